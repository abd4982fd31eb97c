import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { useTexts } from '../../i18n/texts.ts'
import { kinora } from '../../service.ts'
import { Balance } from '../../shell/balance.tsx'
import { Page } from '../../shell/page.tsx'
import { EmptyState, ErrorPanel, Skeleton } from '../../ui/feedback.tsx'
import { useAudioModels, type AudioModel } from '../audio/audio-models.ts'
import { CodeCard } from '../audio/code-card.tsx'
import { audioTexts } from '../audio/texts.ts'
import { useDebounced } from '../audio/use-debounced.ts'
import { playgroundTabs, playgroundTexts } from '../tabs.ts'
import { ChatForm } from './chat-form.tsx'
import { ConversationCard } from './conversation-card.tsx'
import { buildBody, useTurns, type ChatFields, type Turn } from './conversation.ts'
import { chatTexts } from './texts.ts'

import layout from '../audio/layout.module.css'

let kept: ChatFields | undefined

/** The fields, of which the model and the voice are possible ones. They stay while other screens are open. */
const useChatForm = (models: AudioModel[]) => {
  const [fields, setFields] = useState<ChatFields>(
    kept ?? { model: '', reply: 'spoken', voice: '', system: '' },
  )
  const model = models.find(({ id }) => id === fields.model) ?? models[0]
  const voices = model?.voices ?? []
  const possible: ChatFields = {
    ...fields,
    model: model?.id ?? '',
    reply: voices.length === 0 ? 'written' : fields.reply,
    voice: voices.includes(fields.voice) ? fields.voice : (voices[0] ?? ''),
  }
  const change = (changes: Partial<ChatFields>) => {
    kept = { ...possible, ...changes }
    setFields(kept)
  }
  return [possible, change] as const
}

/** The highest price of a turn with this text. */
const useQuote = (fields: ChatFields, turns: Turn[], text: string) => {
  const late = useDebounced({ fields, text })
  const turn: Turn = { id: 0, role: 'user', text: late.text, state: 'done' }
  return useQuery({
    queryKey: ['chat quote', late, turns.map(({ id, state }) => [id, state])],
    queryFn: ({ signal }) => {
      const body = buildBody(late.fields, [...turns, turn])
      return kinora.chat.completions.create({ ...body, dry_run: true }, { signal })
    },
    enabled: late.fields.model !== '' && late.text.trim() !== '',
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  })
}

/** Recordings are long, so the code shows where they are. */
const shortenRecordings = (body: object): Record<string, unknown> =>
  JSON.parse(
    JSON.stringify(body, (name, value: unknown) => (name === 'data' ? '<base64 of the recording>' : value)),
  ) as Record<string, unknown>

export const ChatPage = () => {
  const playground = useTexts(playgroundTexts)
  const audio = useTexts(audioTexts)
  const texts = useTexts(chatTexts)
  const { models: all, data, error, refetch } = useAudioModels('chat')
  const models = all.filter(({ endpoints }) => endpoints.includes('/v1/chat/completions'))
  const [form, setForm] = useChatForm(models)
  const [text, setText] = useState('')
  const turns = useTurns()
  const quote = useQuote(form, turns, text)
  const sample: Turn = { id: 0, role: 'user', text: text === '' ? 'Hello' : text, state: 'done' }
  const isAnswered = turns.at(-1)?.role !== 'user'
  return (
    <Page title={playground.title} tabs={playgroundTabs(playground)} actions={<Balance />}>
      {error !== null && data === undefined && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton height={480} />}
      {data !== undefined && models.length === 0 && (
        <EmptyState title={audio.noModels.title}>{audio.noModels.text}</EmptyState>
      )}
      {models.length > 0 && (
        <div className={`${layout['columns']} ${layout['resultsFirst']}`}>
          <ChatForm
            models={models}
            form={form}
            setForm={setForm}
            quote={text.trim() === '' ? undefined : quote.data}
            error={quote.error}
          />
          <div className={layout['results']}>
            <ConversationCard
              form={form}
              turns={turns}
              text={text}
              setText={setText}
              onWriteInstead={() => setForm({ reply: 'written' })}
            />
            <CodeCard
              operation="completeChat"
              body={shortenRecordings(buildBody(form, isAnswered ? [...turns, sample] : turns))}
            />
          </div>
        </div>
      )}
      <p className="visually-hidden" role="status">
        {turns.at(-1)?.state === 'waiting' && texts.waiting}
      </p>
    </Page>
  )
}
