import { systemClock } from "../../../common/clock.ts";
import { refusePrivateNames } from "./node-names.ts";

const resolve = async (host: string) => {
  if (host === "gone.example") throw new Error("ENOTFOUND");
  const known: Record<string, string[]> = { "inside.example": ["93.184.216.34", "10.0.0.7"], "cloud.example": ["169.254.169.254"] };
  return (known[host] ?? ["93.184.216.34"]).map((address) => ({ address, family: 4 }));
};
const check = (urls: string[], allowPrivate: boolean) =>
  refusePrivateNames(
    urls.map((url, index) => ({ url, path: `body.participants.${index}.url` })),
    { allowPrivate, clock: systemClock, resolve },
  );

test("ssrf: a name of which one address is private is refused by its place in the request", async () => {
  await expect(check(["https://a.example", "http://inside.example:5000/x"], false)).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    details: [{ path: "body.participants.1.url", message: expect.stringContaining("ALLOW_PRIVATE_NODES=true") }],
  });
  await expect(check(["https://a.example", "http://inside.example:5000/x"], true)).resolves.toBeUndefined();
});

test("ssrf: a name that leads to a metadata service is refused whatever the operator allows", async () => {
  const details = [{ path: "body.participants.0.url", message: "resolves to a link-local address, which is never allowed" }];
  for (const allowPrivate of [true, false])
    await expect(check(["http://cloud.example"], allowPrivate)).rejects.toMatchObject({ code: "VALIDATION_ERROR", details });
});

test("a name that does not resolve yet passes, as does an empty address", async () => {
  await expect(check(["http://gone.example", ""], false)).resolves.toBeUndefined();
});
