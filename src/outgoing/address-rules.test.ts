import { describe, expect, test } from "vitest";
import { isAllowedName, readAddressRules, refusalOf } from "./address-rules.ts";

const byDefault = readAddressRules([]);

describe("without a word from the operator", () => {
  test.each([
    ["0.0.0.0", "unspecified"],
    ["0.1.2.3", "unspecified"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["10.0.0.1", "private"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.168.1.1", "private"],
    ["100.64.0.1", "carrier-grade NAT"],
    ["100.127.255.255", "carrier-grade NAT"],
    ["169.254.0.1", "link-local"],
    ["169.254.169.254", "metadata"],
    ["169.254.170.2", "metadata"],
    ["100.100.100.200", "metadata"],
    ["168.63.129.16", "metadata"],
    ["192.0.0.192", "metadata"],
    ["192.0.0.8", "reserved"],
    ["192.0.2.1", "documentation"],
    ["198.51.100.7", "documentation"],
    ["203.0.113.9", "documentation"],
    ["198.18.0.1", "benchmarking"],
    ["198.19.255.255", "benchmarking"],
    ["192.88.99.1", "tunnel"],
    ["224.0.0.1", "multicast"],
    ["239.255.255.250", "multicast"],
    ["240.0.0.1", "reserved"],
    ["255.255.255.255", "broadcast"],
    ["::", "unspecified"],
    ["::1", "loopback"],
    ["0:0:0:0:0:0:0:1", "loopback"],
    ["::ffff:127.0.0.1", "loopback"],
    ["::ffff:7f00:1", "loopback"],
    ["::ffff:169.254.169.254", "metadata"],
    ["::ffff:10.1.2.3", "private"],
    ["::127.0.0.1", "reserved"],
    ["::ffff:0:127.0.0.1", "reserved"],
    ["64:ff9b::127.0.0.1", "loopback"],
    ["64:ff9b::a9fe:a9fe", "metadata"],
    ["64:ff9b:1::1", "reserved"],
    ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "tunnel"],
    ["2002:7f00:1::", "tunnel"],
    ["2002:a00:1::1", "tunnel"],
    ["2001:10::1", "reserved"],
    ["2001:db8::1", "documentation"],
    ["3fff::1", "documentation"],
    ["fc00::1", "private"],
    ["fd12:3456::1", "private"],
    ["fd00:ec2::254", "metadata"],
    ["fe80::1", "link-local"],
    ["fe80::1%eth0", "link-local"],
    ["febf::1", "link-local"],
    ["fec0::1", "site-local"],
    ["ff02::1", "multicast"],
    ["100::1", "reserved"],
    ["4000::1", "reserved"],
    ["localhost", "not an IP"],
    ["", "not an IP"],
  ])("%s is refused as %s", (address, kind) => {
    expect(refusalOf(byDefault, address)).toBe(kind);
  });

  test.each([
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
  ])("%s may be called", (address) => {
    expect(refusalOf(byDefault, address)).toBeUndefined();
  });
});

describe("Egress.Allow", () => {
  test.each([
    ["loopback", "127.0.0.1", true],
    ["Loopback", "::1", true],
    ["loopback", "::ffff:127.0.0.1", true],
    ["loopback", "10.0.0.1", false],
    ["private", "10.0.0.1", true],
    ["private", "fd12::1", true],
    ["private", "127.0.0.1", false],
    ["private", "100.64.0.1", false],
    ["private", "fd00:ec2::254", false],
    ["private", "169.254.169.254", false],
    ["10.1.0.0/16", "10.1.255.255", true],
    ["10.1.0.0/16", "10.2.0.0", false],
    ["10.1.2.3/12", "10.15.0.1", true],
    ["10.1.0.0/16", "::ffff:10.1.0.1", true],
    ["::ffff:10.1.0.0/112", "10.1.0.9", true],
    ["169.254.169.254", "169.254.169.254", true],
    ["169.254.169.254", "169.254.169.253", false],
    ["fd00::/8", "fd12::1", true],
    ["fd00::/8", "fe80::1", false],
    ["0.0.0.0/0", "127.0.0.1", true],
    ["0.0.0.0/0", "::1", false],
    ["::/0", "::1", true],
  ])("%s: %s may be called: %s", (allow, address, mayBeCalled) => {
    const refusal = refusalOf(readAddressRules([allow]), address);

    expect(refusal === undefined).toBe(mayBeCalled);
  });

  test.each([
    ["api.internal", "api.internal", true],
    ["api.internal", "API.Internal", true],
    ["api.internal", "api.internal.", true],
    ["api.internal", "x.api.internal", false],
    ["api.internal", "api.internal.example.com", false],
    ["*.internal", "api.internal", true],
    ["*.internal", "a.b.internal", true],
    ["*.internal", "internal", false],
    ["*.internal", "notinternal", false],
    ["private", "private", false],
  ])("%s: the name %s is allowed: %s", (allow, name, isAllowed) => {
    expect(isAllowedName(readAddressRules([allow]), name)).toBe(isAllowed);
  });
});
