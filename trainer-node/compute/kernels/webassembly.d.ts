// The part of the WebAssembly interface the kernels use; Node has it, its type package declares it only for browsers.
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array<ArrayBuffer>);
  }
  class Memory {
    constructor(size: { initial: number; maximum: number });
    readonly buffer: ArrayBuffer;
    grow(pages: number): number;
  }
  class Instance {
    constructor(module: Module, imports: { host: { memory: Memory } });
    readonly exports: object;
  }
  function validate(bytes: Uint8Array<ArrayBuffer>): boolean;
}
