import { expect, test } from "vitest";
import { parseJson, type JsonObject } from "../engine/exact-json.ts";
import { parseForm } from "../engine/form-body.ts";
import { formText } from "./form-text.ts";

test.each([
  ['{"a":"x y","b":"1&2=3"}', "a=x+y&b=1%262%3D3"],
  ['{"n":9007199254740993,"price":0.10,"yes":true}', "n=9007199254740993&price=0.10&yes=true"],
  ['{"none":null,"empty":"","no":[],"nothing":{}}', "none=&empty="],
])("%s is %s", (json, form) => {
  expect(formText(parseJson(json) as JsonObject)).toBe(form);
});

test.each([
  '{"list":["a","b"]}',
  '{"list":["a"]}',
  '{"at":{"city":{"name":"X"}}}',
  '{"items":[{"id":1,"tags":["a","b"]},{"id":2}]}',
])("our own API reads %s back", (json) => {
  const value = parseJson(json) as JsonObject;

  expect(parseForm(formText(value), { envelope: false })).toEqual(value);
});
