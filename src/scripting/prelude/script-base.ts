/**
 * The base class of scripts: helpers for dynamic data and XML, configuration, secrets and the log.
 * Helpers that need nothing from the host are static too, for scripts written as plain functions.
 */
import { configExists, readConfig, readConnectionString } from "./configuration.ts";
import type { Widened } from "./convert.ts";
import type { Dynamic } from "./dynamic.ts";
import * as lists from "./lists.ts";
import type { Predicate } from "./lists.ts";
import * as properties from "./properties.ts";
import { readSecret, readSecrets } from "./secrets.ts";
import { servicesOf } from "./services.ts";
import type { XmlDocument } from "./xml/document.ts";
import { escapeXml, parseXml, xmlToString } from "./xml/helpers.ts";

export class ScriptBase {
  /** Whether configuration, secrets and the log are there: not yet in a constructor. */
  get HasServices(): boolean {
    return servicesOf(this) !== undefined;
  }

  // Members by name

  /** True even when the member is null. Maps: exact case; other objects: any case. */
  static HasProperty(obj: unknown, propertyName: string): boolean {
    return properties.hasProperty(obj, propertyName);
  }
  HasProperty(obj: unknown, propertyName: string): boolean {
    return properties.hasProperty(obj, propertyName);
  }

  /** Null when absent. With a default: converted to the default's type, else the default. */
  static GetPropertyValue(obj: unknown, propertyName: string): Dynamic;
  static GetPropertyValue<Value>(
    obj: unknown,
    propertyName: string,
    defaultValue: Value,
  ): Widened<Value>;
  static GetPropertyValue(obj: unknown, propertyName: string, ...rest: [unknown?]): Dynamic {
    return properties.getPropertyValue(obj, propertyName, ...(rest as [unknown]));
  }
  GetPropertyValue(obj: unknown, propertyName: string): Dynamic;
  GetPropertyValue<Value>(obj: unknown, propertyName: string, defaultValue: Value): Widened<Value>;
  GetPropertyValue(obj: unknown, propertyName: string, ...rest: [unknown?]): Dynamic {
    return properties.getPropertyValue(obj, propertyName, ...(rest as [unknown]));
  }

  /** Maps: sets the member. Other objects: sets a property of that name, or does nothing. */
  static SetProperty(obj: unknown, propertyName: string, value: unknown): void {
    properties.setProperty(obj, propertyName, value);
  }
  SetProperty(obj: unknown, propertyName: string, value: unknown): void {
    properties.setProperty(obj, propertyName, value);
  }

  /** Maps only. */
  static RemoveProperty(obj: unknown, propertyName: string): boolean {
    return properties.removeProperty(obj, propertyName);
  }
  RemoveProperty(obj: unknown, propertyName: string): boolean {
    return properties.removeProperty(obj, propertyName);
  }

  /** A shallow copy of a map; empty for anything else. */
  static ToDictionary(obj: unknown): Record<string, Dynamic> {
    return properties.toDictionary(obj);
  }
  ToDictionary(obj: unknown): Record<string, Dynamic> {
    return properties.toDictionary(obj);
  }

  static CreateObject(): Record<string, Dynamic> {
    return {};
  }
  CreateObject(): Record<string, Dynamic> {
    return {};
  }

  static CreateList(): Dynamic[] {
    return [];
  }
  CreateList(): Dynamic[] {
    return [];
  }

  // Lists

  /** The list itself; a new empty one for anything else. */
  static AsList(list: unknown): Dynamic[] {
    return lists.asList(list);
  }
  AsList(list: unknown): Dynamic[] {
    return lists.asList(list);
  }

  static GetList(obj: unknown, propertyName: string): Dynamic[] {
    return lists.asList(properties.getPropertyValue(obj, propertyName));
  }
  GetList(obj: unknown, propertyName: string): Dynamic[] {
    return lists.asList(properties.getPropertyValue(obj, propertyName));
  }

  static ListFilter(list: unknown, predicate: Predicate): Dynamic[] {
    return lists.listFilter(list, predicate);
  }
  ListFilter(list: unknown, predicate: Predicate): Dynamic[] {
    return lists.listFilter(list, predicate);
  }

  /** The first element, or the first that fits; null when there is none. */
  static ListFirst(list: unknown, predicate?: Predicate | null): Dynamic {
    return lists.listFirst(list, predicate);
  }
  ListFirst(list: unknown, predicate?: Predicate | null): Dynamic {
    return lists.listFirst(list, predicate);
  }

  static ListLast(list: unknown, predicate?: Predicate | null): Dynamic {
    return lists.listLast(list, predicate);
  }
  ListLast(list: unknown, predicate?: Predicate | null): Dynamic {
    return lists.listLast(list, predicate);
  }

  static ListAny(list: unknown, predicate?: Predicate | null): boolean {
    return lists.listAny(list, predicate);
  }
  ListAny(list: unknown, predicate?: Predicate | null): boolean {
    return lists.listAny(list, predicate);
  }

  static ListCount(list: unknown, predicate?: Predicate | null): number {
    return lists.listCount(list, predicate);
  }
  ListCount(list: unknown, predicate?: Predicate | null): number {
    return lists.listCount(list, predicate);
  }

  static ListSelect<Result>(list: unknown, selector: (item: Dynamic) => Result): Result[] {
    return lists.listSelect(list, selector);
  }
  ListSelect<Result>(list: unknown, selector: (item: Dynamic) => Result): Result[] {
    return lists.listSelect(list, selector);
  }

  /** Appends to the same list. */
  static ListAdd(list: unknown, item: unknown): void {
    lists.listAdd(list, item);
  }
  ListAdd(list: unknown, item: unknown): void {
    lists.listAdd(list, item);
  }

  /** Removes all that fit, in place; answers how many. */
  static ListRemove(list: unknown, predicate: Predicate): number {
    return lists.listRemove(list, predicate);
  }
  ListRemove(list: unknown, predicate: Predicate): number {
    return lists.listRemove(list, predicate);
  }

  // XML

  /** Null for null, blank or unparsable text; never throws. */
  static ParseXml(xmlString: string | null | undefined): XmlDocument | null {
    return parseXml(xmlString);
  }
  ParseXml(xmlString: string | null | undefined): XmlDocument | null {
    return parseXml(xmlString);
  }

  static XmlToString(xmlDoc: XmlDocument | null | undefined): string | null {
    return xmlToString(xmlDoc);
  }
  XmlToString(xmlDoc: XmlDocument | null | undefined): string | null {
    return xmlToString(xmlDoc);
  }

  static EscapeXml(value: string | null | undefined): string | null {
    return escapeXml(value);
  }
  EscapeXml(value: string | null | undefined): string | null {
    return escapeXml(value);
  }

  // Log: placeholders `{name}` or `{0}` take the arguments in order

  LogTrace(message: string, ...args: unknown[]): void {
    servicesOf(this)?.log.write("Trace", message, args);
  }
  LogDebug(message: string, ...args: unknown[]): void {
    servicesOf(this)?.log.write("Debug", message, args);
  }
  LogInformation(message: string, ...args: unknown[]): void {
    servicesOf(this)?.log.write("Information", message, args);
  }
  LogWarning(message: string, ...args: unknown[]): void {
    servicesOf(this)?.log.write("Warning", message, args);
  }
  LogError(message: string, ...args: unknown[]): void {
    servicesOf(this)?.log.write("Error", message, args);
  }
  LogCritical(message: string, ...args: unknown[]): void {
    servicesOf(this)?.log.write("Critical", message, args);
  }

  // Configuration and secrets

  /** `:` separates the levels. With a default: converted to the default's type, else the default. */
  GetConfigValue(key: string): string | null;
  GetConfigValue<Value>(key: string, defaultValue: Value): Widened<Value>;
  GetConfigValue(key: string, ...rest: [unknown?]): unknown {
    return readConfig(this, key, ...(rest as [unknown]));
  }

  ConfigExists(key: string): boolean {
    return configExists(this, key);
  }

  GetConnectionString(name: string): string | null {
    return readConnectionString(this, name);
  }

  /** An empty text when the secret has no such key. */
  GetSecret(storeName: string, secretStore: string, secretKey: string): string {
    return readSecret(this, storeName, secretStore, secretKey);
  }

  async GetSecretAsync(storeName: string, secretStore: string, secretKey: string): Promise<string> {
    return readSecret(this, storeName, secretStore, secretKey);
  }

  GetSecrets(storeName: string, secretStore: string): Record<string, string> {
    return readSecrets(this, storeName, secretStore);
  }

  async GetSecretsAsync(storeName: string, secretStore: string): Promise<Record<string, string>> {
    return readSecrets(this, storeName, secretStore);
  }
}
