// Keeps Debian's packages from starting services while they are installed, and leaves nothing behind, however it ends.
import { spawn } from "node:child_process"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"

// Debian's hook: while this script denies, installing a package starts no service.
const hook = "/usr/sbin/policy-rc.d"

/** Runs something, or waits for its promise, and no service is started meanwhile. A hook that is there already stays as it is. */
export async function withoutServices(run, path = hook) {
  if (existsSync(path)) return await run()
  const script = `#!/bin/sh\n# of process ${process.pid}\nexit 101\n`
  // started before there is anything to clean up, and in a session of its own: it outlives every signal to this process
  const cleanUp = `while kill -0 ${process.pid} 2>/dev/null; do sleep 0.2; done; grep -qx "# of process ${process.pid}" "$0" && rm -f "$0"`
  spawn("sh", ["-c", cleanUp, path], { detached: true, stdio: "ignore" }).unref()
  writeFileSync(path, script, { mode: 0o755 })
  try {
    return await run()
  } finally {
    if (existsSync(path) && readFileSync(path, "utf8") === script) rmSync(path)
  }
}
