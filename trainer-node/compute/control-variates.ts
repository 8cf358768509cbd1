import { InputProblem } from "./problem.ts";
import { type Floats, firstNonFinite, isFloat, sameShape, type Tensor } from "./tensor.ts";

/**
 * Tensors with this prefix are control variates: the server's c in the global parameters, and the change of a client's own in its update.
 */
export const CONTROL_PREFIX = "control:";
/** Tensors with this prefix are the client's own control variate c_i, from a coordinator that sums its changes. */
const OWN_PREFIX = "own_control:";

/** The client's side of SCAFFOLD (Karimireddy et al. 2020), with the control variates of their option II. */
export interface Controls {
  /** c - c_i by tensor, which corrects every gradient of this client. */
  readonly correction: ReadonlyMap<string, Floats>;
  /** After the training: c_i⁺ = c_i - c + (x - y) / (steps · rate), and its change c_i⁺ - c_i for the server. */
  after(trained: readonly Tensor[], work: { steps: number; rate: number }): { own: Tensor[]; change: Tensor[] };
}

/** Separates the parameters of the model from the server's control variates and the client's own. */
export function splitControls(tensors: readonly Tensor[]): { model: Tensor[]; controls: Tensor[]; own: Tensor[] } {
  const having = (prefix: string): Tensor[] =>
    tensors.filter(({ name }) => name.startsWith(prefix)).map((tensor) => ({ ...tensor, name: tensor.name.slice(prefix.length) }));
  const isControl = ({ name }: Tensor): boolean => name.startsWith(CONTROL_PREFIX) || name.startsWith(OWN_PREFIX);
  return { model: tensors.filter((tensor) => !isControl(tensor)), controls: having(CONTROL_PREFIX), own: having(OWN_PREFIX) };
}

/** The client's own control variate, as tensors beside the parameters. */
export const ownControls = (own: readonly Tensor[]): Tensor[] => own.map((tensor) => ({ ...tensor, name: OWN_PREFIX + tensor.name }));

/**
 * Opens the control variates of a client. `server` and `own` have a tensor for each of the model's, or none in the first round of either.
 */
export function openControls(model: readonly Tensor[], given: { server: readonly Tensor[]; own: readonly Tensor[] }): Controls {
  const [server, own] = [fitting(model, given.server, "the control variates of parameters"), fitting(model, given.own, "state")];
  const at = (values: Map<string, Floats>, name: string, index: number): number => values.get(name)?.[index] ?? 0;
  return {
    correction: new Map(
      model.filter(isFloat).map(({ name, data }) => [name, data.map((_, index) => at(server, name, index) - at(own, name, index))]),
    ),
    after: (trained, { steps, rate }) => {
      const [owned, change]: [Tensor[], Tensor[]] = [[], []];
      for (const [place, start] of model.entries()) {
        const end = trained[place];
        if (!isFloat(start) || !end || !isFloat(end)) continue;
        const { name, dtype, shape } = start;
        const moved = (index: number): number => ((start.data[index] as number) - (end.data[index] as number)) / (steps * rate);
        const changes = start.data.map((_, index) => moved(index) - at(server, name, index));
        owned.push({ name, dtype, shape, data: changes.map((value, index) => at(own, name, index) + value) });
        change.push({ name: CONTROL_PREFIX + name, dtype, shape, data: changes });
      }
      return { own: owned, change };
    },
  };
}

function fitting(model: readonly Tensor[], given: readonly Tensor[], field: string): Map<string, Floats> {
  if (given.length === 0) return new Map();
  const extra = given.find(({ name }) => !model.some((tensor) => tensor.name === name));
  if (extra)
    throw new InputProblem("SHAPE_MISMATCH", `${field}: the model has no tensor "${extra.name.slice(0, 100)}"`, { tensor: extra.name });
  return new Map(
    model.map(({ name, shape }) => {
      const tensor = given.find((candidate) => candidate.name === name);
      if (!tensor || !isFloat(tensor) || !sameShape(tensor.shape, shape))
        throw new InputProblem("SHAPE_MISMATCH", `${field}: tensor "${name}" must be of floats and [${shape.join(", ")}], as the model's`, {
          tensor: name,
        });
      const element = firstNonFinite(tensor.data);
      if (element >= 0) throw new InputProblem("NON_FINITE", `${field}: tensor "${name}" has a NaN or infinity`, { tensor: name, element });
      return [name, tensor.data];
    }),
  );
}
