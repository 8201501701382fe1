/** `Authorization.PublishRoles`: who may bring code in. */
import { expect, test } from "vitest";
import { aScriptTask } from "../support/a-script-slot.ts";
import { codeOf } from "../support/instances-of.ts";
import { publishPath, startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({
  settings: { "Authorization.PublishRoles": ["Deployer", "ops"] },
  roles: ["api", "worker", "deploy"],
});
const denied = "403 forbidden.Authorization:110001";
const deployer = { role: "clerk, deployer" };

test.each([{}, { role: "clerk" }, { role: "deploy" }])(
  "%j may neither publish nor do what goes with it",
  async (headers) => {
    const json = { "content-type": "application/json", ...headers };
    const forwarded = await fetch(app.deployUrl + publishPath, {
      method: "POST",
      headers: json,
      body: "{}",
    });
    const packaged = await fetch(`${app.deployUrl}/api/package/publish`, {
      method: "POST",
      headers: json,
      body: "{}",
    });

    expect(codeOf(await app.post(publishPath, aScriptTask("a"), headers))).toBe(denied);
    expect(codeOf(await app.post(`/%61pi${publishPath.slice(4)}`, {}, headers))).toBe(denied);
    expect(codeOf(await app.post("/api/v1.0/definitions/validate", {}, headers))).toBe(denied);
    expect(codeOf(await app.get("/api/v1/definitions/re-initialize", headers))).toBe(denied);
    expect([forwarded.status, packaged.status]).toEqual([403, 403]);
  },
);

test("who has one of the roles may, directly and by way of the deployment API", async () => {
  const direct = await app.post(publishPath, aScriptTask("direct"), deployer);
  const forwarded = await fetch(app.deployUrl + publishPath, {
    method: "POST",
    headers: { "content-type": "application/json", ...deployer },
    body: JSON.stringify(aScriptTask("forwarded")),
  });

  expect([direct.status, forwarded.status]).toEqual([200, 200]);
});

test("everything else is for everybody", async () => {
  const answer = await app.get("/api/v1/core/workflows/sys-tasks/instances");

  expect(answer.status).toBe(200);
});
