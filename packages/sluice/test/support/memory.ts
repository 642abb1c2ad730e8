import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const gc = runInNewContext("gc") as () => void

/** Bytes that this process retains, in the heap and in array buffers. */
export function bytesHeld(): number {
  gc()
  // Array buffers are freed in the background. The second collection waits for those of the first.
  gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
