// Keeps what was measured in bench/results.json, case by case. A partial run replaces only its own cases.
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { cpus } from "node:os"
import type { Section } from "./case.js"
import type { Result } from "./rounds.js"

/** What the figures depend on. */
export interface Environment {
  readonly date: string
  readonly mode: "quick" | "full"
  readonly node: string
  readonly redis: string
  readonly machine: string
  /** The versions of the libraries. */
  readonly packages: Readonly<Record<string, string>>
}

export interface Measured {
  readonly section: Section
  readonly environment: Environment
  /** How long the case took. */
  readonly seconds: number
  readonly results: readonly Result[]
}

/** By the id of the case. */
export type Results = Readonly<Record<string, Measured>>

const file = new URL("results.json", import.meta.url)

export function readResults(): Results {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Results) : {}
}

/** Adds cases to the results that are kept, or replaces them. */
export function mergeResults(measured: Results): Results {
  const all = { ...readResults(), ...measured }
  const rounded = (_: string, value: unknown) =>
    typeof value === "number" ? Number(value.toPrecision(5)) : value
  writeFileSync(file, `${JSON.stringify(all, rounded, 2)}\n`)
  return all
}

export function environmentOf(redis: string, quick: boolean): Environment {
  const processors = cpus()
  return {
    date: new Date().toISOString().slice(0, 10),
    mode: quick ? "quick" : "full",
    node: process.version,
    redis,
    machine: `${processors.length} × ${processors[0]?.model.trim() ?? "unknown"}`,
    packages: packageVersions(),
  }
}

/** Libraries whose version matters; those of the benchmark and the web frameworks. */
const frameworks = [
  "express",
  "express-rate-limit",
  "fastify",
  "@fastify/rate-limit",
  "koa",
  "hono",
  "hono-rate-limiter",
]

function packageVersions(): Record<string, string> {
  const require = createRequire(import.meta.url)
  const { dependencies, devDependencies } = require("./package.json") as Record<
    string,
    Record<string, string>
  >
  const versions = { ...dependencies, ...devDependencies }
  const root = require("../package.json") as { devDependencies: Record<string, string> }
  for (const name of frameworks) versions[name] = root.devDependencies[name] ?? "unknown"
  const listed = Object.entries(versions).filter(([name]) => name !== "sluice" && !name.startsWith("@types/"))
  return Object.fromEntries(listed.sort(([a], [b]) => a.localeCompare(b)))
}

/** All results of all cases, for those who look them up by their id. */
export function allResults(results: Results): Result[] {
  return Object.values(results).flatMap((measured) => measured.results)
}
