/** The data of an instance, and what extensions add to them. */
import { stringifyJson } from "../engine/exact-json.ts";
import { jsonText } from "../engine/json-text.ts";
import { problems } from "../engine/problems.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { answerWith, fingerprint, unlessKnown, type FunctionAnswer } from "./function-answer.ts";
import { listed, parameter, type InstanceCall } from "./instance-call.ts";
import { deepest, loadLevels, refuseQuery } from "./levels.ts";

/** The instance's own data; the extensions are those of the open subflow. */
export async function callData(ports: FunctionPorts, call: InstanceCall): Promise<FunctionAnswer> {
  const { polled, asker, isKnown } = call;
  const { instances } = ports;
  const levels = await loadLevels(ports, polled);
  await refuseQuery(ports, levels, asker.viewer);
  // `+` in a query is a space, and no version has one.
  const version = parameter(asker, "version")?.replaceAll(" ", "+");
  const isPinned = version !== undefined && version.toLowerCase() !== "latest";
  const shown = isPinned ? await instances.atVersion(polled, version) : polled;
  if (shown === undefined) {
    const { domain, flow: workflow, id: instance } = polled;
    throw problems.instanceNotFound({ domain, workflow, instance, version });
  }
  const sight = await instances.sightOf(polled, asker.viewer);
  const eTag = fingerprint(shown.id, shown.entityEtag, shown.flowVersion, sight.tag);
  const entityEtag = `"${shown.entityEtag}"`;
  return unlessKnown({ eTag, entityEtag }, isKnown, async () => {
    const data = sight.of(shown.data);
    const extensions = await instances.extensions(
      deepest(levels).instance,
      listed(asker, "extensions"),
      asker,
    );
    const dataText = data === undefined ? "" : `"data":${jsonText(data)},`;
    const tags = `"eTag":${JSON.stringify(eTag)},"entityEtag":${JSON.stringify(entityEtag)}`;
    return `{${dataText}${tags},"extensions":${stringifyJson(extensions)}}`;
  });
}

export async function callExtensions(
  ports: FunctionPorts,
  { polled, asker }: InstanceCall,
): Promise<FunctionAnswer> {
  const levels = await loadLevels(ports, polled);
  await refuseQuery(ports, levels, asker.viewer);
  const { instance } = deepest(levels);
  const names = listed(asker, "extensions");
  return answerWith({ extensions: await ports.instances.extensions(instance, names, asker) });
}
