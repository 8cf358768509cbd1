import { type BulkWriteResult, MongoBulkWriteError, MongoError, MongoNetworkError } from "mongodb";
import { asStoreError, mayRunAgain } from "./driver-errors.ts";

/** The driver does not export the class of this error. */
class PoolExhausted extends MongoError {
  override get name(): string {
    return "MongoWaitQueueTimeoutError";
  }
}

const inBulk = (error: Error) => new MongoBulkWriteError(error, {} as BulkWriteResult);

test("a driver error inside a bulk write is what it is outside: it may run again, and its caller gets DB_TIMEOUT", () => {
  for (const error of [new PoolExhausted("no connection"), new MongoNetworkError("gone")]) {
    expect([mayRunAgain(error), mayRunAgain(inBulk(error))]).toEqual([true, true]);
    expect(asStoreError(inBulk(error))).toMatchObject({ code: "DB_TIMEOUT", retryAfterSeconds: 1 });
  }
});

test("another error of a bulk write does not run again", () => {
  const error = inBulk(new MongoError("not a number"));
  expect([mayRunAgain(error), asStoreError(error)]).toEqual([false, error]);
});
