import { sendContract } from "./send-contract.ts";
import { TRANSPORTS } from "./transport.ts";

describe.each(TRANSPORTS)("%s", (transport) => sendContract(transport));
