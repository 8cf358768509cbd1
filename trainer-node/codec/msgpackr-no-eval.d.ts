// The build of msgpackr that never makes functions from received text; the package ships it without types.
declare module "msgpackr/index-no-eval" {
  export { Packr, Unpackr } from "msgpackr";
}
