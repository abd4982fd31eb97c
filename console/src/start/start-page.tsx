/** What a new installation shows first: a video that it has made, and the way to one's own. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { useReasons } from '../errors/use-reasons.ts'
import { formatMoney } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { emptyForm, fitForm } from '../playground/video/form.ts'
import { modelsQuery } from '../playground/video/models/models-query.ts'
import { findPlainOffer, formatSize, offersOf } from '../playground/video/offers.ts'
import { useQuotes } from '../playground/video/quote.ts'
import { Pending } from '../playground/video/runs/run-progress.tsx'
import { addRun, contentUrl, isActive, readSize, useRuns } from '../playground/video/runs/runs.ts'
import { startRun } from '../playground/video/runs/start-run.ts'
import { videoTexts } from '../playground/video/texts.ts'
import { queryClient } from '../queries.ts'
import { kinora } from '../service.ts'
import { hasScope, useSession } from '../session/session.ts'
import { Balance } from '../shell/balance.tsx'
import { Page } from '../shell/page.tsx'
import { Button, LinkButton } from '../ui/button.tsx'
import { ErrorPanel, Skeleton } from '../ui/feedback.tsx'
import { TextField } from '../ui/field.tsx'
import { Player } from '../ui/player.tsx'
import { Tag } from '../ui/status.tsx'
import { StartChecklist } from './start-checklist.tsx'
import { sampleMark } from './start-steps.ts'
import { startTexts } from './texts.ts'

import styles from './start-page.module.css'

/** The built-in provider makes a short video in seconds. */
const ownSeconds = 4

/** The marked sample, otherwise the newest video that there is. */
const readSample = async () => {
  const [marked, newest] = await Promise.all([
    kinora.videos.list({ metadata: sampleMark, limit: 1 }),
    kinora.videos.list({ status: 'completed', limit: 1 }),
  ])
  return marked.data.find(({ status }) => status !== 'failed') ?? newest.data[0] ?? null
}

export const StartPage = () => {
  const texts = useTexts(startTexts)
  const video = useTexts(videoTexts)
  const reasons = useReasons()
  const session = useSession()
  const mayCreate = hasScope(session, 'create') && hasScope(session, 'read')
  const [prompt, setPrompt] = useState(texts.samplePrompt)
  const [ownId, setOwnId] = useState<string>()
  const sample = useQuery({
    queryKey: ['start-sample'],
    queryFn: readSample,
    enabled: hasScope(session, 'read'),
    refetchInterval: ({ state }) => (state.data != null && isActive(state.data) ? 2_000 : false),
  })
  const { data: runs = [] } = useRuns()
  const { data: models } = useQuery(modelsQuery)
  const offer = findPlainOffer(offersOf(models ?? []))
  const form = offer === undefined ? emptyForm : fitForm({ ...emptyForm, seconds: ownSeconds, prompt }, offer)
  const quotes = useQuotes(offer === undefined || !mayCreate ? [] : [{ form, offer }])
  const [attempt, setAttempt] = useState(() => crypto.randomUUID())
  const run = useMutation({
    mutationFn: async () => {
      if (offer === undefined) return
      const id = await startRun(form, offer, attempt)
      addRun(id)
      setOwnId(id)
      setAttempt(crypto.randomUUID())
    },
    onSettled: () => {
      void queryClient.invalidateQueries({ queryKey: ['me'] })
      void queryClient.invalidateQueries({ queryKey: ['start-steps'] })
    },
  })
  const shown = runs.find(({ id }) => id === ownId) ?? sample.data ?? undefined
  const [quote] = quotes.data ?? []
  const isMade = shown?.status === 'completed'
  const isPlain = prompt.trim() === '' || offer === undefined || quote?.fits === false
  return (
    <Page title={texts.title} actions={<Balance />}>
      <div className={styles['split']}>
        <div className="stack">
          <div>
            <h2 className="title">
              {isMade ? texts.works : shown === undefined ? texts.none : texts.making}
            </h2>
            <p className="muted">
              {isMade ? texts.worksDetail : shown === undefined ? texts.noneDetail : texts.makingDetail}
            </p>
          </div>
          <section className={styles['card']} aria-label={video.form}>
            <div className={styles['media']}>
              {sample.isPending && sample.isFetching ? (
                <Skeleton height={420} />
              ) : shown === undefined ? null : isMade ? (
                <Player
                  key={shown.id}
                  isAutomatic
                  isLooped
                  title={video.playerTitle(shown.enhanced_prompt)}
                  source={shown.video_url ?? contentUrl(shown.id)}
                  poster={contentUrl(shown.id, 'thumbnail')}
                  {...readSize(shown.size)}
                  seconds={shown.seconds}
                />
              ) : shown.status === 'failed' ? (
                <ErrorPanel
                  error={new Error(shown.error == null ? video.failedTitle : reasons.ofTask(shown.error))}
                />
              ) : (
                <Pending run={shown} />
              )}
            </div>
            {sample.isError && <ErrorPanel error={sample.error} onRetry={() => void sample.refetch()} />}
            {mayCreate ? (
              <form
                className={styles['form']}
                onSubmit={(event) => {
                  event.preventDefault()
                  if (!isPlain && !run.isPending) run.mutate()
                }}
              >
                <div className={styles['line']}>
                  <div className="grow">
                    <TextField label={texts.prompt} isHiddenLabel value={prompt} onChange={setPrompt} />
                  </div>
                  <Button type="submit" variant="primary" isBusy={run.isPending} isDisabled={isPlain}>
                    {texts.generate}
                  </Button>
                </div>
                {offer !== undefined && (
                  <div className="row wrap">
                    <Tag>{offer.model.id}</Tag>
                    <Tag>{video.secondsText(form.seconds)}</Tag>
                    <Tag>{formatSize(form)}</Tag>
                    {quote !== undefined && (
                      <span className="muted small-text">
                        {texts.price(formatMoney(quote.total_micros, quote.currency))}
                      </span>
                    )}
                    <LinkButton variant="ghost" size="small" to="/playground/video" search={{ prompt }}>
                      {texts.allOptions}
                    </LinkButton>
                  </div>
                )}
                {quote?.refusal != null && <p className="fair">{reasons.ofCode(quote.refusal)}</p>}
                {run.error !== null && <ErrorPanel error={run.error} />}
              </form>
            ) : (
              <p className={styles['form']}>{texts.noCreate}</p>
            )}
          </section>
          {mayCreate && (
            <div className="stack small">
              <h3>{texts.startFrom}</h3>
              <div className="row wrap">
                {video.samples.map((each) => (
                  <Button key={each} onPress={() => setPrompt(each)}>
                    {each}
                  </Button>
                ))}
              </div>
            </div>
          )}
        </div>
        <StartChecklist />
      </div>
    </Page>
  )
}
