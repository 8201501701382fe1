import { expect, test } from "vitest";
import { languagesIn, pickLabel } from "./pick-label.ts";

const labels = [
  { label: "Onay", language: "tr-TR" },
  { label: "Approval", language: "en-US" },
  { label: "Freigabe", language: "de-DE" },
  { label: "Freigabe (AT)", language: "de-AT" },
];

test.each([
  ["de-AT", "Freigabe (AT)"],
  ["DE-at", "Freigabe (AT)"],
  ["de", "Freigabe"],
  ["de-CH", "Freigabe"],
  ["fr, de;q=0.5", "Freigabe"],
  ["de;q=0.2, tr;q=0.9", "Onay"],
  ["tr;q=0, de;q=0.1", "Freigabe"],
  ["fr", "Approval"],
  ["*", "Approval"],
  ["", "Approval"],
  [undefined, "Approval"],
  ["!!;;;,,q", "Approval"],
])("for Accept-Language %j the label is %j", (header, label) => {
  expect(pickLabel(labels, header)).toBe(label);
});

test("without an English one the first label is taken, and none when there is none", () => {
  expect(pickLabel(labels.slice(2), "fr")).toBe("Freigabe");
  expect(pickLabel([], "fr")).toBeUndefined();
});

test("languages of equal weight keep their order", () => {
  expect(languagesIn("tr, de-AT, en;q=0.8, de")).toEqual(["tr", "de-at", "de", "en"]);
});

test("of a header with thousands of languages the first ones are read", () => {
  const many = Array.from({ length: 20_000 }, () => "fr").join(",");

  const languages = languagesIn(`de,${many},tr`);

  expect(languages).toHaveLength(32);
  expect(languages).not.toContain("tr");
});
