import { AppError } from "../../common/errors.ts";
import type { TrafficShare } from "./trained-records.ts";

const ALL = 100;

/** Gives one version a share; the others split the rest in their previous proportions, in whole percents. */
export function withShare(traffic: readonly TrafficShare[], { version, percent }: TrafficShare): TrafficShare[] {
  const others = traffic.filter((share) => share.version !== version);
  if (percent < ALL && others.length === 0) {
    throw new AppError("VALIDATION_ERROR", `Version ${version} must get 100 percent of the calls, because no other version is served.`, {
      details: [{ path: "body.percent", message: "must be 100 while no other version is served" }],
    });
  }
  const rest = scaled(others, ALL - percent);
  return [...rest, { version, percent }].filter((share) => share.percent > 0).sort((left, right) => left.version - right.version);
}

/** The version with the largest share; the newest if equal. */
export function mainVersion(traffic: readonly TrafficShare[]): number {
  return traffic.reduce((most, share) => (share.percent >= most.percent ? share : most), { version: 0, percent: 0 }).version;
}

/** Largest-remainder method, so that whole percents sum to the total; the newer version is first if remainders are equal. */
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
