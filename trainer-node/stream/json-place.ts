import { TrainerError } from "../errors.ts";

const [COMMA, COLON] = [0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Tracks the position of a reader in a JSON object by brackets, commas and colons only. The parser checks whether they are valid. */
export interface JsonPlace {
  /** The field of the outermost object. */
  readonly field: string;
  /** The index in the list, if the field is a list. */
  readonly index: number;
  /** Must be called with every byte outside of strings. */
  pass(byte: number): void;
  enterField(name: string): void;
  atFieldName(): boolean;
  atFieldValue(): boolean;
  atListEntry(): boolean;
}

/** Creates a tracker at the beginning of a body. */
export function createJsonPlace(depthMax: number): JsonPlace {
  /** Open containers, by their first byte. */
  const open: number[] = [];
  let nameNext = false;
  let field = "";
  let index = 0;
  const enter = (byte: number): void => {
    open.push(byte);
    if (open.length > depthMax) throw new TrainerError("MALFORMED_JSON", `The body is nested deeper than ${depthMax} levels.`);
    nameNext = byte === OPEN_OBJECT;
    if (open.length === 2) index = 0;
  };
  const leave = (): void => {
    open.pop();
    nameNext = false;
  };
  const separate = (): void => {
    nameNext = open.at(-1) === OPEN_OBJECT;
    if (open.length === 2) index++;
  };
  const isObject = (): boolean => open[0] === OPEN_OBJECT;
  return {
    get field() {
      return field;
    },
    get index() {
      return index;
    },
    pass: (byte) => {
      if (byte === COMMA) separate();
      else if (byte === COLON) nameNext = false;
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) enter(byte);
      else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) leave();
    },
    enterField: (name) => {
      field = name;
    },
    atFieldName: () => open.length === 1 && isObject() && nameNext,
    atFieldValue: () => open.length === 1 && isObject() && !nameNext,
    atListEntry: () => open.length === 2 && isObject() && open[1] === OPEN_LIST,
  };
}
