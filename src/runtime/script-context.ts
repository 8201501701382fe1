import type { Run } from "../engine/transition/run.ts";
import type { ScriptContext } from "../scripting/script-host.ts";

/** What scripts see of a run. Plain values; a script that changes them changes nothing. */
export function scriptContext(run: Run): ScriptContext {
  const { instance, hop, program, headers } = run;
  const { workflow } = program;
  return {
    Body: run.body ?? run.payload.attributes ?? null,
    Headers: headers,
    QueryParameters: {},
    RouteValues: {},
    MetaData: {},
    CurrentTransition: { Data: run.body ?? null, Header: headers },
    Workflow: {
      Key: workflow.key,
      Domain: workflow.domain,
      Flow: "sys-flows",
      Version: workflow.version,
      StateKeys: [...workflow.states.keys()],
    },
    Instance: {
      Id: instance.id,
      Key: instance.key ?? null,
      Flow: instance.flow,
      CurrentState: instance.current.key,
      EffectiveState: instance.effective.key,
      EffectiveStateType: instance.effective.type,
      EffectiveStateSubType: instance.effective.subType,
      Data: instance.data ?? null,
    },
    Transition: {
      Key: hop.transition.key,
      From: hop.from,
      Target: hop.transition.target,
      TriggerType: hop.transition.triggerType,
      TriggerKind: hop.transition.triggerKind,
    },
    Runtime: { Domain: instance.domain, Version: workflow.version },
  };
}
