/** The form at the left, and what it makes at the right. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'

import { formatMoney } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { queryClient } from '../../queries.ts'
import { kinora } from '../../service.ts'
import { hasScope, useSession } from '../../session/session.ts'
import { meQuery } from '../../shell/balance.tsx'
import { Button } from '../../ui/button.tsx'
import { ErrorPanel, Note, Skeleton } from '../../ui/feedback.tsx'
import { describeProblem } from './describe-problem.ts'
import { readDraft, saveDraft } from './draft.ts'
import { emptyForm, fitForm, readCosting, type VideoForm } from './form.ts'
import { readImages } from './image-field.tsx'
import { ModelPicker } from './models/model-picker.tsx'
import { rememberUse } from './models/models-query.ts'
import {
  estimatePrice,
  findPlainOffer,
  findSize,
  makesSeconds,
  readOffer,
  videoPath,
  type Offer,
} from './offers.ts'
import { PriceBar } from './price-bar.tsx'
import { useQuotes, useRemixQuote } from './quote.ts'
import { RemixSource } from './remix-source.tsx'
import { Results } from './runs/results.tsx'
import { addRun, contentUrl, readSize, type Run } from './runs/runs.ts'
import { startRun } from './runs/start-run.ts'
import { videoTexts } from './texts.ts'
import { VideoFormFields } from './video-form.tsx'

import styles from './video-page.module.css'

const CodeCard = lazy(async () => ({ default: (await import('./code/code-card.tsx')).CodeCard }))
const Compare = lazy(async () => ({ default: (await import('./compare/compare.tsx')).Compare }))

const stackedLayout = '(max-width: 960px)'

const findOffer = (offers: Offer[], id: string | undefined): Offer | undefined =>
  offers.find(({ model }) => model.id === id || (id !== undefined && model.aliases.includes(id)))

const openForm = (offers: Offer[], search: { model?: string; prompt?: string }): VideoForm => {
  const draft = readDraft()
  const first = findOffer(offers, search.model ?? draft.model) ?? findPlainOffer(offers)
  const form = { ...emptyForm, ...draft, ...(search.prompt !== undefined && { prompt: search.prompt }) }
  return first === undefined ? form : fitForm(form, first)
}

export const Playground = ({ offers }: { offers: Offer[] }) => {
  const texts = useTexts(videoTexts)
  const session = useSession()
  const navigate = useNavigate()
  const search = useSearch({ from: '/shell/playground/video' })
  const [ownForm, setForm] = useState(() => openForm(offers, search))
  const [changedFor, setChangedFor] = useState<string>()
  const { data: me } = useQuery(meQuery)
  const remixId = search.remix
  const source = useQuery({
    queryKey: ['video', remixId],
    queryFn: () => kinora.videos.get(remixId ?? ''),
    enabled: remixId !== undefined,
  })
  const compared = (search.compare?.split(',') ?? []).flatMap((id) => findOffer(offers, id) ?? [])
  // Of a remix, the prompt is new, and the size is that of the source until something is changed.
  const isNewRemix = remixId !== undefined && changedFor !== remixId
  const form =
    isNewRemix && source.data !== undefined
      ? { ...ownForm, prompt: search.prompt ?? '', ...readSize(source.data.size) }
      : ownForm
  const isComparing = search.compare !== undefined && remixId === undefined
  const chosen = findOffer(offers, form.model) ?? offers[0]
  const offer =
    (remixId === undefined
      ? isComparing
        ? compared[0]
        : undefined
      : findOffer(offers, source.data?.model)) ?? chosen
  const change = (next: VideoForm) => {
    setForm(next)
    setChangedFor(remixId)
    saveDraft(next)
  }

  // The picture of another video as a reference image.
  const takenFrom = useRef<string>(undefined)
  useEffect(() => {
    const { from } = search
    if (from === undefined || takenFrom.current === from) return
    takenFrom.current = from
    void fetch(contentUrl(from, 'thumbnail'))
      .then(async (response) => {
        if (!response.ok) return
        const file = new File([await response.blob()], 'reference.jpg', { type: 'image/jpeg' })
        setForm((old) => ({ ...old, images: [...old.images, ...readImages([file])] }))
      })
      .finally(() => {
        takenFrom.current = undefined
        void navigate({ to: '/playground/video', search: {}, replace: true })
      })
  }, [search, navigate])

  const orders =
    offer === undefined || remixId !== undefined
      ? []
      : (isComparing ? compared : [offer]).map((one) => ({
          form: isComparing ? fitForm(form, one) : form,
          offer: one,
        }))
  const quotes = useQuotes(orders)
  // A remix has the size of its source, unless the model makes others at `/v1/videos`.
  const remixOffer = offer && readOffer(offer.model, videoPath)
  const remixSize = remixOffer && findSize(remixOffer, form)?.name
  const size = remixSize === source.data?.size ? undefined : remixSize
  const remixQuote = useRemixQuote(source.data === undefined ? undefined : remixId, size)
  const shownQuotes = remixId === undefined ? quotes.data : remixQuote.data && [remixQuote.data]

  // The key stays the same until the request has succeeded, so that a repetition makes no second video.
  const keys = useRef(new Map<string, string>())
  const keyFor = (name: string) => {
    const known = keys.current.get(name) ?? crypto.randomUUID()
    keys.current.set(name, known)
    return known
  }
  const side = useRef<HTMLDivElement>(null)
  const [slots, setSlots] = useState<Record<string, string>>({})
  const run = useMutation({
    mutationFn: async () => {
      if (remixId !== undefined) {
        const body = { prompt: form.prompt, ...(size !== undefined && { size: size as '1280x720' }) }
        const name = JSON.stringify([remixId, body])
        const { id } = await kinora.videos.remix(remixId, body, { idempotencyKey: keyFor(name) })
        keys.current.delete(name)
        addRun(id)
        return
      }
      await Promise.all(
        orders.map(async (order) => {
          const name = JSON.stringify({ ...order.form, images: order.form.images.map(({ id }) => id) })
          const id = await startRun(order.form, order.offer, keyFor(name))
          keys.current.delete(name)
          addRun(id)
          rememberUse(order.offer.model.id)
          setSlots((old) => ({ ...old, [order.offer.model.id]: id }))
        }),
      )
    },
    onSuccess: () => {
      // Where the results are below the form, they are out of sight.
      if (matchMedia(stackedLayout).matches) side.current?.scrollIntoView({ block: 'start' })
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['me'] }),
  })

  if (offer === undefined) return null
  const problem = !hasScope(session, 'create')
    ? texts.noCreate
    : remixId !== undefined
      ? form.prompt.trim() === ''
        ? texts.promptMissing
        : undefined
      : orders
          .map((order) => describeProblem(order.form, order.offer, texts))
          .find((one) => one !== undefined)
  const edit = ({ model, seconds, size: made, details, enhanced_prompt: prompt }: Run) => {
    const other = findOffer(offers, model) ?? offer
    change(fitForm({ ...form, prompt: details?.prompt ?? prompt, seconds, ...readSize(made) }, other))
  }
  const choose = (other: Offer) => change(fitForm(form, other))
  const available = me?.balance.available_micros ?? Infinity
  const cheaper = offers
    .filter(
      (one) => makesSeconds(one, form.seconds) && findSize(one, form) && one.minImages <= form.images.length,
    )
    .map((one) => ({ one, micros: estimatePrice(one.model, readCosting(form)) }))
    .filter(({ micros }) => micros <= available)
    .toSorted((left, right) => right.micros - left.micros)[0]
  return (
    <div className={styles['split']}>
      <section className={styles['form']} aria-label={texts.form}>
        <VideoFormFields
          {...{ form, offers }}
          offer={remixId === undefined ? offer : (remixOffer ?? { ...offer, sizes: [] })}
          makers={isComparing && compared.length > 0 ? compared : [offer]}
          onChange={change}
          isRemix={remixId !== undefined}
        >
          {remixId !== undefined ? (
            source.data !== undefined ? (
              <RemixSource source={source.data} />
            ) : source.isError ? (
              <Note kind="warning">{texts.remixMissing}</Note>
            ) : (
              <Skeleton height={72} />
            )
          ) : isComparing ? null : (
            <ModelPicker offers={offers} form={form} onChoose={choose} />
          )}
        </VideoFormFields>
        <PriceBar
          quotes={shownQuotes}
          isOld={remixId === undefined ? quotes.isOld && !quotes.isError : remixQuote.isPlaceholderData}
          action={
            isComparing
              ? texts.runAll(orders.length)
              : remixId === undefined
                ? texts.generate
                : texts.generateRemix
          }
          isBusy={run.isPending}
          problem={problem}
          onRun={() => run.mutate()}
          cheaper={
            cheaper !== undefined && (
              <Button size="small" onPress={() => choose(cheaper.one)}>
                {texts.cheaper(cheaper.one.model.id, formatMoney(cheaper.micros, me?.balance.currency ?? ''))}
              </Button>
            )
          }
          error={
            run.error !== null ? (
              <ErrorPanel error={run.error} />
            ) : (remixId === undefined ? quotes : remixQuote).error !== null ? (
              <ErrorPanel error={(remixId === undefined ? quotes : remixQuote).error} />
            ) : undefined
          }
        />
      </section>
      <div className={styles['side']} ref={side}>
        {isComparing ? (
          <Suspense fallback={<Skeleton height={480} />}>
            <Compare {...{ offers, compared, form, slots }} quotes={quotes.data} />
          </Suspense>
        ) : (
          <>
            <Results
              onEdit={edit}
              suggestions={texts.samples.map((prompt) => (
                <Button key={prompt} size="small" onPress={() => change({ ...form, prompt })}>
                  {prompt}
                </Button>
              ))}
            />
            <Suspense fallback={<Skeleton height={240} />}>
              <CodeCard
                form={form}
                offer={offer}
                {...(remixId !== undefined && { remix: { id: remixId, size } })}
              />
            </Suspense>
          </>
        )}
      </div>
    </div>
  )
}
