/** `kinora local`: serves the built-in provider. */
import { loadSettings } from '@kinora/gateway/config'
import { startMetrics } from '@kinora/gateway/metrics'
import { startLocalProvider } from '@kinora/local/server'

import { localObserver } from './local-metrics.ts'
import { localSettingNames } from './local-settings.ts'
import { runRole } from './role.ts'

export const serveLocal = async (): Promise<void> => {
  const settings = loadSettings([...localSettingNames])
  const { hostname, port } = new URL(settings.LOCAL_URL)
  const allowedHosts = settings.ALLOWED_HOSTS.and(settings.LOCAL_URL)
  await runRole('local', settings, async (log) => {
    const metrics = await startMetrics(settings, 'local', log)
    const provider = await startLocalProvider({
      host: hostname,
      port: Number(port === '' ? 80 : port),
      directory: settings.LOCAL_DIRECTORY,
      modelDirectory: settings.MODEL_DIR,
      ffmpegPath: settings.FFMPEG_PATH,
      bubblewrapPath: settings.BUBBLEWRAP_PATH,
      requiresSandbox: settings.REQUIRE_SANDBOX,
      renders: settings.LOCAL_RENDERS,
      hostProblem: (header) => allowedHosts.problemWith(header),
      log: (event, fields, level = 'info') => log[level](fields, event),
      observer: localObserver,
    })
    return {
      close: async () => {
        await provider.close()
        await metrics.stop()
      },
    }
  })
}
