import { expect, test } from "vitest"
import { temporaryFile } from "../support/folder.js"
import { sluice } from "./fake-terminal.js"

/** Ends by itself if the server starts. */
const serve = (...args: readonly string[]) =>
  sluice(["serve", ...args], { signal: AbortSignal.timeout(2_000) })

test("a file without --config is refused, because the sample would run in its place", async () => {
  const { code, err } = await serve("sluice.yaml", "--http", "127.0.0.1:0", "--grpc", "off")
  expect([code, err.split("\n")[0]]).toEqual([
    2,
    "sluice serve: serve takes no arguments, got sluice.yaml; write --config <file>",
  ])
})

test("a server without any listener is refused", async () => {
  const problem = "sluice serve: --http off and --grpc off leave nothing to listen on"
  const { code, err } = await serve("--http", "off", "--grpc", "off")
  expect([code, err.split("\n")[0]]).toEqual([2, problem])
  const file = temporaryFile("sluice.yaml", "listen: { grpc: false }\nlimiters: {}\n")
  const half = await serve("--config", file, "--http", "off")
  expect([half.code, half.err.split("\n")[0]]).toEqual([
    2,
    "sluice serve: --http off leaves nothing to listen on, because the configuration turns grpc off",
  ])
})
