import { ApplianceError, Client, method } from "./client.js";
import { OPERATIONS } from "./operations.js";

export { ApplianceError };

/** A memory that a daemon serves. */
export class Appliance extends Client {
  constructor(options = {}) {
    super(options);
    for (const operation of OPERATIONS) {
      const [group, name] = operation;
      const place = group ? (this[group] ??= {}) : this;
      place[name] = method(this, operation);
    }
  }
}
