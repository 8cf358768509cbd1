import { AppError } from "../../common/errors.ts";
import type { TrafficShare } from "./trained-records.ts";

const ALL = 100;

/** One version has this share from now on; the others have the rest, in the proportions they had, to the last percent. */
export function withShare(traffic: readonly TrafficShare[], { version, percent }: TrafficShare): TrafficShare[] {
  const others = traffic.filter((share) => share.version !== version);
  if (percent < ALL && others.length === 0) {
    throw new AppError("VALIDATION_ERROR", `No other version is served: version ${version} has to have all calls.`, {
      details: [{ path: "body.percent", message: "must be 100 while no other version is served" }],
    });
  }
  const rest = scaled(others, ALL - percent);
  return [...rest, { version, percent }].filter((share) => share.percent > 0).sort((left, right) => left.version - right.version);
}

/** The version with most calls; of equals the newest. */
export function mainVersion(traffic: readonly TrafficShare[]): number {
  return traffic.reduce((most, share) => (share.percent >= most.percent ? share : most), { version: 0, percent: 0 }).version;
}

/** By largest remainder, so that whole percents sum to the total; of equal remainders the newer version is first. */
function scaled(shares: readonly TrafficShare[], total: number): TrafficShare[] {
  const sum = shares.reduce((all, { percent }) => all + percent, 0);
  const parts = shares.map(({ version, percent }) => ({
    version,
    percent: Math.floor((percent * total) / sum),
    left: (percent * total) % sum,
  }));
  let missing = total - parts.reduce((all, { percent }) => all + percent, 0);
  for (const part of [...parts].sort((left, right) => right.left - left.left || right.version - left.version)) {
    if (missing-- > 0) part.percent++;
  }
  return parts.map(({ version, percent }) => ({ version, percent }));
}
