import { serve } from "./serve.ts";

await serve("tributary trainer", process.env);
