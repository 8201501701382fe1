import { Option, type Command } from "commander";
import { loadConfig, type LoadedConfig } from "../config.ts";

export interface CommonFlags {
  config?: string;
  port?: string;
  initPort?: string;
  host?: string;
  dataDir?: string;
}

/** The flags every command that reads the configuration has. */
export const withConfigFlags = (command: Command): Command =>
  command
    .addOption(new Option("--config <file>", "JSON file with settings"))
    .addOption(new Option("--host <address>", "address to listen on"))
    .addOption(new Option("--port <number>", "port of the runtime API"))
    .addOption(new Option("--init-port <number>", "port of the deployment API"))
    .addOption(new Option("--data-dir <folder>", "folder for everything kept on disk"));

export function readConfig(flags: CommonFlags): LoadedConfig {
  const given: Record<string, unknown> = {
    "Server.Host": flags.host,
    "Server.Port": flags.port,
    "Server.InitPort": flags.initPort,
    "Runtime.DataDir": flags.dataDir,
  };
  return loadConfig({
    env: process.env,
    file: flags.config,
    flags: given,
  });
}
