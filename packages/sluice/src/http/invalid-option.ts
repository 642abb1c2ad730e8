import { SluiceError } from "../errors.js"

/** The error for an invalid option. The message says what was expected and what was passed. */
export function invalidOption(message: string): SluiceError {
  return new SluiceError("INVALID_OPTION", message)
}
