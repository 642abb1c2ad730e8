export type { Address, Config, LimiterConfig, StoreConfig } from "./config/config.js"
export { ConfigError, type Problem } from "./config/problems.js"
export { type ConfigSource, readConfig } from "./config/read-config.js"
export { type RunningServer, type ServeOptions, serve } from "./serve.js"
