import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readTrainerConfig } from "./config.ts";
import { loadDefaultDataset } from "./default-dataset.ts";

describe("the trainer's configuration", () => {
  test("needs nothing: port 5000 on loopback", () => {
    expect(readTrainerConfig({})).toMatchObject({ trainerPort: 5000, host: "127.0.0.1", trainerQueueMax: 64, trainerAuth: "loopback" });
  });

  test("every problem is reported at once", () => {
    const wrong = {
      TRAINER_PORT: "99999",
      TRAINER_TOKEN: "short",
      TRAINER_BUILTINS: "maybe",
      TRAINER_THREADS: "0",
      TRAINER_QUEUE_MAX: "-1",
      LOG_LEVEL: "loud",
    };
    expect(() => readTrainerConfig(wrong)).toThrow(
      expect.objectContaining({ problems: Object.keys(wrong).map((name) => expect.stringContaining(name)) }),
    );
  });

  test("anonymous callers cannot be allowed on a node that requires signatures", () => {
    expect(() => readTrainerConfig({ TRAINER_ANONYMOUS: "true", TRAINER_SECRET: "a-secret-of-16-characters" })).toThrow(
      "TRAINER_ANONYMOUS",
    );
  });

  test("a budget too small for the largest body is refused", () => {
    expect(() => readTrainerConfig({ TRAINER_BYTES_BUDGET: "2048", TRAINER_BODY_BYTES_MAX: "4096" })).toThrow("TRAINER_BYTES_BUDGET");
  });
});

describe("the default dataset", () => {
  const folder = mkdtempSync(join(tmpdir(), "trainer-config-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = (text: string) => {
    const path = join(folder, "data.json");
    writeFileSync(path, text);
    return path;
  };

  test("is read once into memory that threads share", () => {
    const dataset = loadDefaultDataset(file('[{"a":1,"label":0},{"a":2,"label":2}]'));
    expect(dataset).toMatchObject({ rows: 2, columns: 1, classes: 3 });
    expect(dataset?.features.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(loadDefaultDataset(undefined)).toBeUndefined();
  });

  test.each(["[]", "{", '"digits"', "null", '[{"a":"x","label":0}]'])("a file of %s stops the start with a problem", (text) => {
    expect(() => loadDefaultDataset(file(text))).toThrow(expect.objectContaining({ problems: [expect.stringContaining("DATASET_PATH")] }));
  });

  test("a file that is not there stops the start with a problem", () => {
    expect(() => loadDefaultDataset(join(folder, "none.json"))).toThrow("DATASET_PATH");
  });
});
