import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'
import { ExplainBody } from '@kinora/contract/operations/admin/models'
import type { Static } from 'typebox'

import type { PriceList } from '../../billing/prices/price-list.ts'
import { costOf, totalOf } from '../../billing/prices/price.ts'
import type { Handler } from '../../http/call.ts'
import { findFrame } from '../../models/frame.ts'
import type { ModelConfig, VideoModel } from '../../models/model.ts'
import type { PricedWork } from '../../models/price-rule.ts'
import { secondsFor } from '../../routing/choose-route.ts'
import type { Requirements, Router } from '../../routing/route.ts'
import { pricedWorkOf } from '../../videos/priced-work.ts'
import { requestedSound } from '../../videos/requested-sound.ts'
import { requirementsOf } from '../../videos/video-requirements.ts'
import { capabilityFor } from '../providers/capability-for.ts'
import type { RouteDependencies } from './view-routes.ts'

type RouteExplainer = Pick<Router, 'routesOf' | 'explain'>
type Asked = Static<typeof ExplainBody>

/** What a request amounts to, what it needs, and the request with its defaults. */
interface Explained {
  request: Record<string, unknown>
  work: PricedWork
  requirements: Requirements
}

const dimensionsOf = (model: VideoModel, given: string | undefined) => {
  const { id, sizes } = model
  const size = given ?? Object.keys(sizes)[0] ?? findFrame(model, {})?.size ?? ''
  const [width = 0, height = 0] = size.split('x').map(Number)
  const dimensions = sizes[size] ?? { width, height }
  if (dimensions.width > 0 && dimensions.height > 0) return { size, ...dimensions }
  throw new ApiError('invalid_parameter', {
    param: 'size',
    message: `'size' must be a size of '${id}' (${Object.keys(sizes).join(', ')}) or a width and height such as 1280x720.`,
  })
}

const explainVideo = (model: VideoModel, asked: Asked, router: RouteExplainer): Explained => {
  const requested = Math.ceil(asked.seconds ?? model.durations[0])
  const { size, width, height } = dimensionsOf(model, asked.size)
  const order = {
    ...{ prompt: '', size, width, height, watermark: false, isPrivate: false },
    seconds: secondsFor(router.routesOf(model.id), requested) ?? requested,
    images: asked.images ?? 0,
    ...requestedSound(model, asked.sound),
    ...(asked.is_remix === true && { remixOf: { taskId: '', mediaId: '' } }),
  }
  const { seconds, sound, images } = order
  return {
    request: { seconds, size, width, height, sound, images, is_remix: asked.is_remix ?? false },
    work: pricedWorkOf(order),
    requirements: requirementsOf(order, undefined),
  }
}

const explain = (model: ModelConfig, asked: Asked, router: RouteExplainer): Explained => {
  const requirements = { capability: capabilityFor[model.kind] }
  switch (model.kind) {
    case 'video':
      return explainVideo(model, asked, router)
    case 'transcription': {
      const { seconds = 60 } = asked
      return { request: { seconds }, work: { counted: { minute: seconds } }, requirements }
    }
    case 'speech': {
      const { characters = 1_000 } = asked
      return { request: { characters }, work: { counted: { million_characters: characters } }, requirements }
    }
    case 'chat': {
      const request = {
        text_input_tokens: asked.text_input_tokens ?? 1_000,
        audio_input_tokens: asked.audio_input_tokens ?? 0,
        text_output_tokens: asked.text_output_tokens ?? 1_000,
        audio_output_tokens: asked.audio_output_tokens ?? 0,
      }
      const counted = Object.entries(request).map(([name, tokens]) => [`million_${name}`, tokens])
      return { request, work: { counted: Object.fromEntries(counted) }, requirements }
    }
  }
}

export const explainModelRoutes =
  ({
    catalog,
    router,
    liveConfig,
    prices,
  }: Omit<RouteDependencies, 'router'> & { router: RouteExplainer; prices: PriceList }): Handler<
    typeof adminOperations.explainModelRoutes
  > =>
  async (call) => {
    const { currency } = call.operator
    await liveConfig.refresh()
    const model = catalog.find(call.path.id)
    const { request, work, requirements } = explain(model, call.read(ExplainBody), router)
    const price = totalOf(prices.pricesOf(model)(work))
    return {
      body: {
        object: 'route.explanation',
        model: model.id,
        request,
        price_micros: price,
        currency,
        routes: router.explain(model.id, requirements).map(({ route, share, reason }) => {
          const cost = costOf(route.costs, work) ?? null
          return {
            provider: route.provider.name,
            model: route.upstreamModel,
            ...{ order: route.order, weight: route.weight, share, reason },
            ...{ cost_micros: cost, margin_micros: cost === null ? null : price - cost, currency },
          }
        }),
      },
    }
  }
