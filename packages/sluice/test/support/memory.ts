import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const gc = runInNewContext("gc") as () => void

/** Bytes that this process holds on to, in the heap and in array buffers. */
export function bytesHeld(): number {
  gc()
  // array buffers are given back in the background; this one waits until those of the first are
  gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
