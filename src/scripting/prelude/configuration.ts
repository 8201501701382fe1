import { convertLike, type Widened } from "./convert.ts";
import { ArgumentException, InvalidOperationException, isBlank } from "./errors.ts";
import { servicesOf, type ScriptServices } from "./services.ts";

/** Values come with the call: the host sends the keys that scripts may read. */
export function readConfig<Value>(
  script: object,
  key: string,
  ...defaults: readonly [] | readonly [Value]
): Widened<Value> | string | null {
  const services = configured(script);
  if (isBlank(key)) throw blank("Configuration key", "key");
  const value = lookUp(services.config, key);
  if (defaults.length === 0) return value;
  const fallback = defaults[0] as Widened<Value>;
  if (value === null) return fallback;
  const converted = convertLike(value, fallback);
  if (converted !== undefined) return converted as Widened<Value>;
  services.log.write(
    "Warning",
    "Failed to convert configuration value for key '{ConfigKey}' to type {TargetType}. Returning provided default.",
    [key, typeof fallback],
  );
  return fallback;
}

/** The key has a value, or there are keys below it. */
export function configExists(script: object, key: string): boolean {
  const config = servicesOf(script)?.config;
  if (config === undefined || isBlank(key)) return false;
  const below = `${key.toLowerCase()}:`;
  return (
    lookUp(config, key) !== null ||
    Object.keys(config).some((name) => name.toLowerCase().startsWith(below))
  );
}

export function readConnectionString(script: object, name: string): string | null {
  const services = configured(script);
  if (isBlank(name)) throw blank("Connection string name", "name");
  return lookUp(services.config, `ConnectionStrings:${name}`);
}

export const blank = (what: string, paramName: string) =>
  new ArgumentException(`${what} cannot be null or empty`, paramName);

function configured(script: object): ScriptServices {
  const services = servicesOf(script);
  if (services !== undefined) return services;
  throw new InvalidOperationException(
    "Configuration is not available. Ensure services are injected.",
  );
}

/** Keys of a configuration ignore case. */
function lookUp(config: ScriptServices["config"], key: string): string | null {
  if (Object.hasOwn(config, key)) return config[key] ?? null;
  const wanted = key.toLowerCase();
  const name = Object.keys(config).find((known) => known.toLowerCase() === wanted);
  return name === undefined ? null : (config[name] ?? null);
}
