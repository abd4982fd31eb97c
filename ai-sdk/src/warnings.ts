import type { SharedV4Warning } from '@ai-sdk/provider'

export const unsupported = (feature: string, details?: string): SharedV4Warning => ({
  ...{ type: 'unsupported', feature },
  ...(details !== undefined && { details }),
})

/** The parameters that the service has ignored, which it names in a header. */
export const ignoredParameters = (headers: Record<string, string> | undefined): SharedV4Warning[] =>
  (headers?.['x-ignored-params'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .map((name) => unsupported(name, `The service ignored the parameter '${name}' for this model.`))

/** A deprecated model names the day on which it stops working. */
export const shutdown = (
  modelId: string,
  { shutdown_date: date, successor }: { shutdown_date?: string; successor?: string },
): SharedV4Warning[] => {
  if (date === undefined) return []
  const advice = successor === undefined ? 'Choose another model.' : `Use ${successor} instead.`
  return [{ type: 'deprecated', setting: 'model', message: `${modelId} stops working on ${date}. ${advice}` }]
}
