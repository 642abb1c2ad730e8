import { fileURLToPath } from "node:url"
import {
  type GrpcObject,
  loadPackageDefinition,
  logVerbosity,
  Server,
  ServerCredentials,
  type ServiceClientConstructor,
  setLogVerbosity,
} from "@grpc/grpc-js"
import { loadSync } from "@grpc/proto-loader"
import { ReflectionService } from "@grpc/reflection"
import { HealthImplementation, protoPath as healthProto } from "grpc-health-check"
import type { Address } from "../config/config.js"
import type { Listener, ServerContext } from "../context.js"
import { rateLimitService } from "./rate-limit-service.js"

const protos = fileURLToPath(new URL("../../proto", import.meta.url))

/**
 * The largest message in bytes. Envoy lets requests pass after an error by default, so a client must not be able to cause one with long
 * headers. Envoy takes up to 60 kB of them, and each descriptor may repeat them.
 */
const LARGEST_MESSAGE = 2 ** 20

const SERVICE = "envoy.service.ratelimit.v3.RateLimitService"

/** Loads the protocols that the server speaks. Fields have the names of their JSON form. */
export function loadProtocols() {
  const files = ["envoy/service/ratelimit/v3/rls.proto", healthProto]
  return loadSync(files, { includeDirs: [protos], longs: Number, enums: String, defaults: true })
}

/** Starts the gRPC listener: Envoy's rate limit protocol, health checks and server reflection. */
export async function listenGrpc(context: ServerContext, { host, port }: Address): Promise<Listener> {
  // Its log is not structured, and every error reaches us in another way.
  setLogVerbosity(logVerbosity.NONE)
  const server = new Server({ "grpc.max_receive_message_length": LARGEST_MESSAGE })
  const definition = loadProtocols()
  server.addService(serviceIn(loadPackageDefinition(definition)).service, rateLimitService(context))
  const health = new HealthImplementation({ "": "SERVING", [SERVICE]: "SERVING" })
  health.addToServer(server)
  new ReflectionService(definition).addToServer(server)

  const stopServing = () => {
    for (const name of ["", SERVICE]) health.setStatus(name, "NOT_SERVING")
  }
  context.stopping.addEventListener("abort", stopServing, { once: true })
  if (context.stopping.aborted) stopServing()

  const bound = await bind(server, host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`)
  context.log.info({ host, port: bound }, "gRPC listens")
  return {
    address: { host, port: bound },
    async drain({ deadline }) {
      context.stopping.removeEventListener("abort", stopServing)
      await shutDown(server, deadline)
    },
  }
}

function serviceIn(root: GrpcObject): ServiceClientConstructor & { service: { [name: string]: never } } {
  const found = SERVICE.split(".").reduce<unknown>((object, name) => (object as GrpcObject)[name], root)
  return found as ReturnType<typeof serviceIn>
}

function bind(server: Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    )
  })
}

/** Lets the calls in flight end, and cuts them off at the deadline. */
function shutDown(server: Server, deadline: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.forceShutdown(), deadline)
    server.tryShutdown(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
