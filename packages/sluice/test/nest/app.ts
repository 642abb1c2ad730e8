import { createRequire } from "node:module"
import type { INestApplication, ModuleMetadata, NestApplicationOptions } from "@nestjs/common"
import { Module } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import { ExpressAdapter } from "@nestjs/platform-express"
import { FastifyAdapter } from "@nestjs/platform-fastify"
import { type Running, running } from "../middleware/adapter.js"

/** Nest as its packages load each other. The project `nest11` of vitest replaces Nest 12 by Nest 11. */
const installed = createRequire(
  new URL(`../../../../${process.env["NEST"] === "11" ? "peers/nest11/" : ""}package.json`, import.meta.url),
)
export const version: string = installed("@nestjs/core/package.json").version
export const InstalledFactory: unknown = installed("@nestjs/core").NestFactory

/** The platforms that Nest runs on. */
export const platforms = {
  Express: () => new ExpressAdapter(),
  Fastify: () => new FastifyAdapter(),
}

export type Platform = keyof typeof platforms

/** An application of one module. Errors reject instead of ending the process. */
export async function appOf(platform: Platform, metadata: ModuleMetadata): Promise<INestApplication> {
  class AppModule {}
  Module(metadata)(AppModule)
  const options: NestApplicationOptions = { logger: false, abortOnError: false }
  return NestFactory.create(AppModule, platforms[platform](), options)
}

/** Starts an application on a free port, and returns how to call and close it. */
export async function listening(app: INestApplication): Promise<Running> {
  await app.listen(0, "127.0.0.1")
  const { url, close } = await running(app.getHttpServer())
  return {
    url,
    async close() {
      await close()
      await app.close()
    },
  }
}
