/**
 * The kinds of component. A kind is named by the system flow that owns its records: a published
 * task is an instance of the flow `sys-tasks`, and is read like one.
 */
export const ComponentKind = {
  flow: "sys-flows",
  task: "sys-tasks",
  schema: "sys-schemas",
  view: "sys-views",
  function: "sys-functions",
  extension: "sys-extensions",
  mapping: "sys-mappings",
} as const;
export type ComponentKind = (typeof ComponentKind)[keyof typeof ComponentKind];

export const componentKinds: readonly ComponentKind[] = Object.values(ComponentKind);

export const isComponentKind = (flow: string): flow is ComponentKind =>
  (componentKinds as readonly string[]).includes(flow);
