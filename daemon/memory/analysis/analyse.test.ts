import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyseCue, analyseItem } from './analyse.ts'
import { DAY_MS } from './days.ts'
import { foldName } from './fold.ts'
import { DIGITS_SHIFT, FLAG, type IndexItem, isNamed, type Language, type RecordText } from './item.ts'
import { actorNames } from './names.ts'

// A Wednesday.
const AT = Date.UTC(2026, 2, 11, 9, 30)
const TODAY = Math.floor(AT / DAY_MS)
const NOBODY = actorNames([], 'auto')

function record(content: string, change: Partial<RecordText> = {}): RecordText {
  return { seq: 1, context: 1, position: 0, actor: null, occurredAt: AT, content, ...change }
}

function itemOf(content: string, language: Language = 'auto'): IndexItem {
  return analyseItem(record(content), language)
}

function termsOf(content: string, language: Language = 'auto'): string[] {
  return [...itemOf(content, language).terms.keys()]
}

// Mutant: visible() without its replace of LATIN_MARKS keeps the accent, and 'cafe' does not find 'café'.
test('one word is one term however it is written', () => {
  assert.deepEqual(termsOf('Café'), ['cafe'])
  assert.deepEqual(termsOf('CAFE\u0301 café'), ['cafe'])
  assert.deepEqual(termsOf('ﬁle Ｆｉｌｅ'), ['file'])
  assert.deepEqual(termsOf('Straße STRASSE'), ['strass'])
  assert.deepEqual(termsOf("Anna's Anna’s"), ['anna'])
  assert.deepEqual(termsOf('السَّيّارة السيارة سيّارة والسيارة', 'ar'), ['سيار'])
  assert.deepEqual(termsOf('إجتماع اجتماع الإجتماع', 'ar'), ['اجتماع'])
  assert.deepEqual(termsOf('رقم ٤٢', 'ar'), ['رقم', '42'])
})

// Mutant: an INVISIBLE that matches nothing makes another word of 'pay\u200bment'.
test('characters that nobody sees neither split nor hide a word', () => {
  const plain = itemOf('The payment was refused yesterday')
  const marked = itemOf('\u202eThe pay\u200bment\u2069 was re\u00adfused\ufeff yester\u200dday\u202c')
  assert.deepEqual(marked, plain)
})

test('scripts without spaces give pairs of characters, a character that only holds a sentence together none', () => {
  assert.deepEqual(termsOf('我昨天在上海'), ['昨天', '上海'])
  assert.deepEqual(termsOf('東京タワー', 'en'), ['東京', '京タ', 'タワ', 'ワー'])
  assert.deepEqual(termsOf('กรุงเทพ', 'en').slice(0, 2), ['กร', 'รุ'])
  assert.deepEqual(termsOf('使用SQL数据库'), ['使用', 'sql', '数据', '据库'])
  assert.deepEqual(termsOf('हिन्दी भाषा', 'en'), ['हिन्दी', 'भाषा'])
})

test('without a configured language the script decides, and between English and Dutch the small words', () => {
  assert.deepEqual(termsOf('de fietsen van mijn moeder zijn gestolen'), termsOf('fietsen moeder gestolen', 'nl'))
  assert.deepEqual(termsOf('the bicycles of my mother were stolen'), termsOf('bicycles mother stolen', 'en'))
  assert.deepEqual(termsOf('TypeError', 'auto'), termsOf('TypeError', 'en'))
})

test('numbers, ids and versions are not stemmed', () => {
  assert.deepEqual(termsOf('123 v3870 TP671 2nd'), ['123', 'v3870', 'tp671', '2nd'])
})

// Mutant: dropping the `|| 7` of weekdays makes "Wednesday", said on a Wednesday, today.
test('time words become days counted from the day of the record', () => {
  const day = (from: number, to = from) => [[TODAY + from, TODAY + to]]
  for (const [text, ranges] of [
    ['I went there yesterday', day(-1)],
    ['we talked on Wednesday', day(-7)],
    ['see you next Friday', day(2)],
    ['three weeks ago it broke', day(-22, -20)],
    ['it rained last week', day(-10, -3)],
    ['nothing happened', []],
    ['Gisteravond was het feest, echt waar', day(-1)],
    ['twee dagen geleden was ik ziek', day(-2)],
    ['komende vrijdag komt de loodgieter', day(2)],
    ['overmorgen komt zij', day(2)],
    ['我昨天去了北京', day(-1)],
    ['两天前收到的', day(-2)],
    ['下周五开会', day(2)],
    ['وصلت أمس', day(-1)],
    ['سافر قبل أسبوعين', day(-15, -13)],
    ['الاجتماع يوم الجمعة القادم', day(2)],
  ] as const) {
    assert.deepEqual(itemOf(text).ranges, ranges, text)
  }
})

test('an item shows what its surface shows', () => {
  const asked = itemOf('Did you find 2 tickets to Lisbon?')
  assert.ok(asked.flags & FLAG.question && asked.flags & FLAG.you && asked.flags & FLAG.place)
  assert.equal(asked.flags >> DIGITS_SHIFT, 1)
  assert.equal(asked.flags & FLAG.first, 0)
  const told = itemOf('I stayed in Porto for two weeks with my sister, we read "The Maias".')
  const wanted = FLAG.first | FLAG.place | FLAG.duration | FLAG.title | FLAG.person | FLAG.time
  assert.equal(told.flags & wanted, wanted)
  assert.equal(itemOf('My sister and Élodie met Željko').caps, itemOf('My sister and Elodie met Zeljko').caps)
  assert.ok(itemOf('My sister plays the cello').flags & FLAG.first)
  assert.ok(itemOf('你去哪里了?').flags & FLAG.question)
  assert.ok(itemOf('هل وصلت؟').flags & FLAG.question)
  assert.ok(analyseItem(record('look', { media: 'a red bicycle' }), 'en').terms.has('bicycl'))
})

test('a cue says what it asks for, in every language', () => {
  const asks = (text: string) => analyseCue(text, 'auto', NOBODY).asks
  const when = (text: string) => analyseCue(text, 'auto', NOBODY).when
  for (const text of ['Where do you live?', 'Waar woon je?', '你住在哪里?', 'أين تسكن؟'])
    assert.ok(asks(text) & FLAG.place)
  for (const text of ['Who came?', 'Wie kwam er?', '谁来了?', 'من جاء؟']) assert.ok(asks(text) & FLAG.person, text)
  for (const text of ['How long did it take?', 'Hoe lang duurde het?', '用了多久?', 'كم من الوقت استغرق؟']) {
    assert.ok(asks(text) & FLAG.duration, text)
  }
  for (const text of ['When is it?', 'Wanneer is het?', '什么时候?', 'متى الاجتماع؟']) assert.ok(when(text), text)
  assert.equal(asks('Tell me about the garden') | asks('Vertel me over de tuin'), 0)
})

test('a cue names a day, a month or a year', () => {
  const date = (text: string) => analyseCue(text, 'auto', NOBODY).date
  const fifthOfMay = { day: 5, months: [5], year: 2026, exact: false }
  assert.deepEqual(date('what happened on 5 May 2026?'), fifthOfMay)
  assert.deepEqual(date('what happened on May 5th 2026?'), fifthOfMay)
  assert.deepEqual(date('wat gebeurde er op 5 mei 2026?'), fifthOfMay)
  assert.deepEqual(date('2026年5月5日发生了什么?'), fifthOfMay)
  assert.deepEqual(date('ماذا حدث في 5 مايو 2026؟'), fifthOfMay)
  assert.deepEqual(date('what happened on 2026-05-05?'), { ...fifthOfMay, exact: true })
  assert.deepEqual(date('wat gebeurde er op 5.5.2026?'), { ...fifthOfMay, exact: true })
  assert.deepEqual(date('what did we buy in March?'), { day: 0, months: [3], year: 0, exact: false })
  assert.equal(date('when did we move in May?'), null)
  assert.equal(date('what happened on 2026-55-05?'), null)
})

// Mutant: findNames keeping the name in `rest` leaves 'anna' among the terms.
test('an actor that the cue names says who is meant and is no word of the cue', () => {
  const actors = actorNames(['Anna de Vries', 'Bram', 'agent-7', '小明', 'سارة', 'user'].map(foldName), 'auto')
  const read = (text: string) => {
    const { who, terms } = analyseCue(text, 'auto', actors)
    return { who, terms }
  }
  assert.deepEqual(read("What is Anna's bicycle like?"), { who: ['anna'], terms: ['bicycl', 'like'] })
  assert.deepEqual(read('Did ANNA DE VRIES call Bram?'), { who: ['anna de vries', 'bram'], terms: ['call'] })
  assert.deepEqual(read('What broke in Agent-7?'), { who: ['agent 7'], terms: ['break'] })
  assert.deepEqual(read('小明买了什么书?'), { who: ['小明'], terms: ['买', '么书'] })
  assert.deepEqual(read('ماذا قالت لسارة؟').who, ['ساره'])
  // A role names its actor and stays a word: a record about users must be found by it.
  assert.deepEqual(read('what does the user want?'), { who: ['user'], terms: ['user', 'want'] })
  assert.ok(isNamed('anna de vries', 'anna') && isNamed('anna de vries', 'anna de vries'))
  assert.ok(!isNamed('annabel', 'anna'))
})
