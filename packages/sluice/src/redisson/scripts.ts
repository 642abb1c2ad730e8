import { type Script, scriptOf } from "../stores/redis/library.js"
import { files } from "./lua.generated.js"

const onState = (name: string): Script => scriptOf(`${files["state"]}\n${files[name]}`)

/** The scripts of `sluice/redisson`. All but `delete` start with the shared `state.lua`. */
export const scripts = {
  acquire: onState("acquire"),
  availablePermits: onState("available-permits"),
  setRate: onState("set-rate"),
  getConfig: onState("get-config"),
  giveBack: onState("give-back"),
  delete: scriptOf(files["delete"] as string),
}
