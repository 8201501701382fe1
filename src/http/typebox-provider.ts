/** Gives handlers the static types of their TypeBox schemas. Types only: nothing happens at run time. */
import type { FastifyTypeProvider } from "fastify";
import type { Static, TSchema } from "typebox";

export interface TypeBoxProvider extends FastifyTypeProvider {
  validator: this["schema"] extends TSchema ? Static<this["schema"]> : unknown;
  serializer: this["schema"] extends TSchema ? Static<this["schema"]> : unknown;
}
