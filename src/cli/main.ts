#!/usr/bin/env node
/** The command line: one file per command in this folder. */
import { Command } from "commander";
import { StartRefusal } from "../engine/start-refusal.ts";
import { serviceVersion } from "../service-version.ts";
import { doctorCommand } from "./doctor.ts";
import { migrateCommand } from "./migrate.ts";
import { startCommand } from "./start.ts";

const program = new Command("millrace")
  .description("Workflow runtime and package deployment service")
  .version(serviceVersion())
  .showSuggestionAfterError()
  .showHelpAfterError("(add --help for the options)");

for (const command of [startCommand(), doctorCommand(), migrateCommand()]) {
  program.addCommand(command.copyInheritedSettings(program));
}

try {
  await program.parseAsync();
} catch (error) {
  // A refusal is a sentence for a person; anything else is our fault and keeps its stack.
  console.error(error instanceof StartRefusal ? `millrace: ${error.message}` : error);
  process.exitCode = 1;
}
