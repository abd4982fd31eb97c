/** The text of `kinora.yaml`: the providers whose keys were found, and routes to them. */
import { vendors } from './vendors.ts'

type Vendor = (typeof vendors)[number]

const head = `# Providers, models, routes and prices. Changes apply without a restart.
#
# Customers can use the models that have a route. Give each model that you sell a route to a vendor, and its price. The
# built-in provider ("here") makes real but simple media on this machine; it serves the models whose routes name it, such as
#   vidA3: { provider: here }
# or, with OFFER_MODELS_WITHOUT_ROUTES=true in .env, all models without routes.
providers:
  here: { kind: local }
`

const example = `  # acme: { kind: openai, baseUrl: https://api.example.com/v1, apiKey: "\${env:ACME_API_KEY}" }
# models:
#   vidB-2:
#     prices: [{ unit: second, micros: 100000 }]
#     routes: [{ provider: acme, model: acme-video-2 }]
`

const providerLine = ({ name, provider, variable }: Vendor) => {
  const settings = Object.entries(provider).map(([setting, value]) => `${setting}: ${value}`)
  return `  ${name}: { ${[...settings, `apiKey: "\${env:${variable}}"`].join(', ')} }\n`
}

const modelLines = ({ name, models }: Vendor) =>
  Object.entries(models).map(
    ([id, model]) => `  ${id}: { routes: [{ provider: ${name}, model: ${model} }] }\n`,
  )

export const configFileFor = (found: Vendor[]): string => {
  if (found.length === 0) return head + example
  const models = found.flatMap(modelLines)
  return [
    head,
    ...found.map(providerLine),
    ...(models.length === 0
      ? ['# models:\n#   vidB-2:\n#     routes: [{ provider: …, model: … }]\n']
      : ['models:\n', ...models]),
  ].join('')
}
