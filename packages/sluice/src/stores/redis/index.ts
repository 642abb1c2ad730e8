export type { RedisClient } from "./client.js"
export { type IoredisLike, ioredis } from "./clients/ioredis.js"
export { type NodeRedisLike, nodeRedis } from "./clients/node-redis.js"
export { type RedisStoreOptions, redisStore } from "./redis-store.js"
