// A Nest application: a limit for all routes, another for one route, and none for the health check.
import { Controller, Get, Inject, Injectable, Module, Post } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import { fixedWindow, tokenBucket } from "sluice"
import { RateLimit, RateLimitModule, SkipRateLimit } from "sluice/nest"

@Injectable()
class Reports {
  create(): string {
    return "created"
  }
}

@Controller()
class AppController {
  // tsx emits no types for constructors, so the dependency is named. With tsc or the Nest CLI, `@Inject` is not needed.
  constructor(@Inject(Reports) private readonly reports: Reports) {}

  @Get()
  home(): string {
    return "hello"
  }

  @Post("reports")
  @RateLimit({
    policy: {
      burst: tokenBucket({ capacity: 2, refill: 1, every: "10s" }),
      daily: fixedWindow({ limit: 50, window: "1d" }),
    },
  })
  report(): string {
    return this.reports.create()
  }

  @Get("health")
  @SkipRateLimit()
  health(): string {
    return "ok"
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ policy: fixedWindow({ limit: 100, window: "1m" }) })],
  controllers: [AppController],
  providers: [Reports],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ["warn", "error"] })
await app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1")
console.log(await app.getUrl())
