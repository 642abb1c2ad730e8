import registry, { type Policy } from "./registry.js"

/** A policy of each algorithm, with these units and milliseconds for the options that have no default. */
export function policyOfEach(units: number, duration: number): Policy[] {
  return Object.values(registry).map(({ fields, make }) => {
    const required = Object.entries(fields).filter(([, field]) => typeof field === "string")
    return make(
      Object.fromEntries(
        required.map(([name, field]) => [name, { units, duration }[field as "units"]]),
      ) as never,
    )
  })
}
