/** The settings of the built-in provider. `kinora dev` passes no others to it, because it decodes files of strangers. */
import type { SettingName } from '@kinora/gateway/config'

export const localSettingNames = [
  'ALLOWED_HOSTS',
  'LOCAL_URL',
  'LOCAL_DIRECTORY',
  'LOCAL_RENDERS',
  'MODEL_DIR',
  'FFMPEG_PATH',
  'BUBBLEWRAP_PATH',
  'REQUIRE_SANDBOX',
  'DRAIN_SECONDS',
  'LOG_LEVEL',
  'METRICS_PORT',
  'METRICS_HOST',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'LOG_FORMAT',
] as const satisfies SettingName[]
