import { describe, expect, test } from "vitest"
import { outcomeOf } from "./outcome.js"

describe("an error", () => {
  test.each([
    ["NOSCRIPT No matching script. Please use EVAL.", "unloaded"],
    ["READONLY You can't write against a read only replica. script: 5f, on @user_script:12.", "again"],
    ["LOADING Redis is loading the dataset in memory", "again"],
    ["BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", "again"],
    ["CLUSTERDOWN Hash slot not served", "again"],
    ["TRYAGAIN Multiple keys request during rehashing of slot", "again"],
    ["Stream isn't writeable and enableOfflineQueue options is false", "again"],
    ["The client is offline", "again"],
    ["OOM command not allowed when used memory > 'maxmemory'. script: 5f", "refused"],
    ["NOPERM this user has no permissions to run the 'evalsha' command", "refused"],
    ["WRONGTYPE Operation against a key holding the wrong kind of value", "refused"],
    ["The client is closed", "refused"],
    [
      "An error was signalled by the server: - NoScriptError: No matching script. Please use EVAL.",
      "unloaded",
    ],
    ["An error was signalled by the server: - TryAgain: Multiple keys request during rehashing", "again"],
    ["An error was signalled by the server: - constructor: x", "unknown"],
    ["OOM: command not allowed when used memory > 'maxmemory'. script: 5f", "refused"],
    ["Reached maximum inflight requests- ClientError", "again"],
    ["Standalone connect failed - IoError: Received error for address `127.0.0.1:1`: WRONGPASS", "again"],
    ["Unable to execute requests; the client is closed. Please create a new client.", "refused"],
    ["ERR Function not found", "unloaded"],
    ["An error was signalled by the server: - ResponseError: Function not found", "unloaded"],
    ["ERR unknown command 'FCALL', with args beginning with: 'sluice_1' '1' 'k'", "no functions"],
    ["ERR unknown command `FCALL`, with args beginning with: `sluice_1`", "no functions"],
    ["NOPERM this user has no permissions to run the 'fcall' command", "no functions"],
    ["NOPERM No permissions to access a key", "refused"],
    ["Command failed: NOSCRIPT No matching script. Please use EVAL.", "unloaded"],
    ["Command failed: user said NOSCRIPT is fine", "unknown"],
    ["timed out", "unknown"],
    ["Socket closed unexpectedly", "unknown"],
    ["Connection is closed.", "unknown"],
    ["Command timed out", "unknown"],
    ["ERR user_script:7: attempt to index a nil value", "unknown"],
    ["constructor", "unknown"],
    ["", "unknown"],
  ])("that says %j means %s", (message, outcome) => {
    expect(outcomeOf(new Error(message))).toBe(outcome)
  })

  test("of a refused connection means that nothing ran; a reset connection and a non-error are unknown", () => {
    expect(outcomeOf(Object.assign(new Error("connect"), { code: "ECONNREFUSED" }))).toBe("again")
    expect(outcomeOf(Object.assign(new Error("read"), { code: "ECONNRESET" }))).toBe("unknown")
    expect(outcomeOf("NOSCRIPT")).toBe("unknown")
  })
})
