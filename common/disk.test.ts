import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDiskFull, systemDisk } from "./disk.ts";
import { fakeDisk } from "./disk-fixture.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-disk-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

// The contract of both disks; the fake is useful only while it behaves like the real one.
describe.each([
  ["system", () => systemDisk],
  ["fake", fakeDisk],
])("the %s disk", (_name, make) => {
  test("keeps what is written, in order, over closing and opening again", async () => {
    const disk = make();
    const path = join(folder, "deep/er", "a");
    disk.makeFolder(join(folder, "deep/er"));
    const file = disk.create(path);
    file.write(Buffer.from("one "));
    file.write(Buffer.from("two "));
    await file.datasync();
    file.close();
    await disk.syncFolder(join(folder, "deep/er"));
    const again = disk.append(path);
    again.write(Buffer.from("three"));
    expect(disk.read(path).toString()).toBe("one two three");
    again.truncate(4);
    again.write(Buffer.from("2"));
    again.close();
    expect(disk.read(path).toString()).toBe("one 2");
  });

  test("creates only what is not there, and lists, renames and removes", () => {
    const disk = make();
    const path = join(folder, "a");
    disk.create(path).close();
    expect(() => disk.create(path)).toThrow(expect.objectContaining({ code: "EEXIST" }));
    disk.rename(path, join(folder, "b"));
    expect(disk.list(folder)).toEqual(["b"]);
    disk.remove(join(folder, "b"));
    expect(disk.list(folder)).toEqual([]);
    expect(() => disk.remove(join(folder, "b"))).toThrow(expect.objectContaining({ code: "ENOENT" }));
    expect(() => disk.read(join(folder, "b"))).toThrow(expect.objectContaining({ code: "ENOENT" }));
  });
});

test("a full disk surfaces as it is", () => {
  const full = systemDisk.append("/dev/full");
  let thrown: unknown;
  try {
    full.write(Buffer.from("x"));
  } catch (error) {
    thrown = error;
  }
  full.close();
  expect(thrown).toMatchObject({ code: "ENOSPC" });
  expect(isDiskFull(thrown)).toBe(true);
  expect(isDiskFull(new Error("other"))).toBe(false);
});

test("other users of the machine cannot read the files", () => {
  systemDisk.makeFolder(join(folder, "own"));
  systemDisk.create(join(folder, "own/a")).close();
  expect(statSync(join(folder, "own")).mode & 0o077).toBe(0);
  expect(statSync(join(folder, "own/a")).mode & 0o077).toBe(0);
});

describe("the fake disk loses what a real one may lose", () => {
  test("a power cut takes what was not synced, wholly or in part, and names of which the folder was never synced", async () => {
    const disk = fakeDisk();
    const file = disk.create("/f/a");
    await disk.syncFolder("/f");
    file.write(Buffer.from("safe"));
    await file.datasync();
    file.write(Buffer.from("unsafe"));
    disk.create("/f/b").write(Buffer.from("x"));
    expect(disk.afterPowerCut().read("/f/a").toString()).toBe("safe");
    expect(
      disk
        .afterPowerCut({ unsynced: () => 2 })
        .read("/f/a")
        .toString(),
    ).toBe("safeun");
    expect(disk.afterPowerCut().list("/f")).toEqual(["a"]);
    expect(disk.afterKill().read("/f/a").toString()).toBe("safeunsafe");
  });

  test("a sync covers only what was written before it", async () => {
    const disk = fakeDisk();
    const file = disk.create("/f/a");
    await disk.syncFolder("/f");
    file.write(Buffer.from("before"));
    const syncing = file.datasync();
    file.write(Buffer.from("after"));
    await syncing;
    expect(disk.afterPowerCut().read("/f/a").toString()).toBe("before");
  });

  test("a full one takes a part of a write and fails", () => {
    const disk = fakeDisk();
    disk.capacity = 3;
    expect(() => disk.create("/f/a").write(Buffer.from("abcde"))).toThrow(expect.objectContaining({ code: "ENOSPC" }));
    expect(disk.read("/f/a").toString()).toBe("abc");
  });
});
