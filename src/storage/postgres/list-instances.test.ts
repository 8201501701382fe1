import { expect, test } from "vitest";
import { createInstanceLists } from "./list-instances.ts";

test("lists take a quarter of the connections: the rest is for work that cannot wait", async () => {
  let underWay = 0;
  let most = 0;
  const query = async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    return [];
  };
  const lists = createInstanceLists({ poolSize: 8, query });
  const scope = { domain: "core", flow: "order" };
  const asked = { filter: undefined, sort: [], grouping: undefined, page: 1, pageSize: 10 };

  const pages = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      i % 2 === 0 ? lists.instances(scope, asked) : lists.definitions(scope, asked),
    ),
  );

  expect(pages).toHaveLength(20);
  expect(most).toBe(2);
});
