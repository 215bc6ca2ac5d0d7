import { stemEnglish } from '../stems/english.ts'
import { englishSpellings } from './spellings.ts'
import { basesOf, type LanguageTables, wordSet } from './tables.ts'

const MONTHS = 'january|february|march|april|may|june|july|august|september|october|november|december'
const COUNTS = 'one|two|three|four|five|six|seven|eight|nine|ten|few|couple'
const WEEKDAYS = 'sunday|monday|tuesday|wednesday|thursday|friday|saturday'
/** With a capital after "in" or "to", and no place. */
const NO_PLACES = [
  ...[...MONTHS.split('|'), ...WEEKDAYS.split('|')].flatMap((name) => {
    const capital = name.replace(/^./, (letter) => letter.toUpperCase())
    return [capital, capital.slice(0, 3)]
  }),
  ...'Afrikaans Albanian Amharic Arabic Armenian Basque Bengali Bosnian Bulgarian Cantonese Catalan Chinese'.split(' '),
  ...'Christmas Croatian Czech Danish Dutch Easter English Esperanto Estonian Farsi Finnish Flemish French'.split(' '),
  ...'Frisian Galician Georgian German Greek Gujarati Hebrew Hindi Hungarian Icelandic Indonesian Irish'.split(' '),
  ...'Italian Japanese Kannada Kazakh Khmer Korean Kurdish Latin Latvian Lithuanian Macedonian Malay Malayalam'.split(
    ' ',
  ),
  ...'Maltese Mandarin Marathi Mongolian Nepali Norwegian Pashto Persian Polish Portuguese Punjabi Romanian'.split(' '),
  ...'Russian Serbian Sinhala Slovak Slovenian Somali Spanish Swahili Swedish Tagalog Tamil Telugu Thai'.split(' '),
  ...'Tibetan Turkish Ukrainian Urdu Uzbek Vietnamese Welsh Xhosa Yiddish Yoruba Zulu'.split(' '),
].join('|')
const KIN =
  'mom|dad|mother|father|sister|brother|friend|friends|wife|husband|son|daughter|kids|family|team|colleague|coworker|' +
  'neighbor|neighbour|grandma|grandpa|uncle|aunt|cousin|partner|boyfriend|girlfriend|group'

export const ENGLISH: LanguageTables = {
  language: 'en',
  stop: wordSet(
    'i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it',
    'its itself they them their theirs themselves what which who whom this that these those am is are was were be been',
    'being have has had having do does did doing a an the and but if or because as until while of at by for with about',
    'against between into through during before after above below to from up down in out on off over under again',
    'further then once here there when where why how all any both each few more most other some such no nor not only',
    'own same so than too very s t can will just don should now',
  ),
  telling: wordSet(
    'lives works likes loves wants needs prefers plays drinks eats drives speaks uses called named goes would',
    'could may must many much still also always never today tomorrow yesterday morning evening night week year',
    'day time good new old my please thanks know tell friend house home work school phone number street',
    // Also a small word elsewhere: "We met in March" is not Dutch.
    'met want men door even over had die man war hat bin also son come sea sin do as on car pour comment plus sur main',
    'nun nos per par dire era far us let ten via den',
  ),
  stopCharacters: new Set(),
  bases: basesOf(
    ...['say said', 'make made', 'take took taken', 'come came', 'see saw seen', 'know knew known', 'get got gotten'],
    ...['give gave given', 'find found', 'think thought', 'tell told', 'become became', 'show shown', 'leave left'],
    ...['feel felt', 'bring brought', 'begin began begun', 'keep kept', 'hold held', 'write wrote written'],
    ...['stand stood', 'hear heard', 'mean meant', 'meet met', 'run ran', 'pay paid', 'sit sat', 'speak spoke spoken'],
    ...['lead led', 'grow grew grown', 'lose lost', 'fall fell fallen', 'send sent', 'build built', 'go went gone'],
    ...['understand understood', 'draw drew drawn', 'break broke broken', 'spend spent', 'rise rose risen'],
    ...['drive drove driven', 'buy bought', 'wear wore worn', 'choose chose chosen', 'eat ate eaten', 'teach taught'],
    ...['catch caught', 'fight fought', 'throw threw thrown', 'win won', 'sell sold', 'sleep slept', 'swim swam swum'],
    ...['sing sang sung', 'ride rode ridden', 'fly flew flown', 'forget forgot forgotten', 'hide hid hidden'],
    ...['drink drank drunk', 'light lit', 'shoot shot', 'steal stole stolen', 'wake woke woken', 'shake shook shaken'],
    ...['freeze froze frozen', 'bite bit bitten', 'blow blew blown', 'dig dug', 'feed fed', 'hang hung', 'lay laid'],
    ...['lend lent', 'lie lying', 'seek sought', 'sink sank sunk', 'stick stuck', 'sweep swept', 'swing swung'],
    ...['tear tore torn', 'bear bore born', 'beat beaten', 'bend bent', 'bind bound', 'bleed bled', 'burn burnt'],
    ...['deal dealt', 'dream dreamt', 'learn learnt', 'ring rang rung', 'shine shone', 'strike struck'],
    ...['swear swore sworn', 'child children', 'person people', 'man men', 'woman women', 'foot feet', 'tooth teeth'],
    ...['mouse mice', 'life lives', 'wife wives', 'knife knives', 'mom mum mums mother mothers', 'dad father fathers'],
    ...['movie film films', 'photo photograph photographs picture pictures pic pics'],
  ),
  spellings: englishSpellings(),
  elided: null,
  stem: stemEnglish,
  months: MONTHS.split('|').map((month) =>
    // "may" is a verb more often than a month's short form is anything else.
    month === 'may' ? /\bmay\b/ : new RegExp(`\\b(?:${month}|${month.slice(0, 3)})\\b`),
  ),
  dayOfMonth: new RegExp(
    `\\b(\\d{1,2})(?:st|nd|rd|th)?,? (?:of )?(?:${MONTHS})\\b|\\b(?:${MONTHS}) (\\d{1,2})(?:st|nd|rd|th)?\\b`,
  ),
  time: {
    pattern: new RegExp(
      '\\b(?:' +
        [
          '(?<dayBeforeYesterday>the day before yesterday)',
          '(?<yesterday>yesterday|last night)',
          '(?<today>today|tonight|this morning|this afternoon|just now)',
          '(?<dayAfterTomorrow>the day after tomorrow)',
          '(?<tomorrow>tomorrow)',
          '(?<lastWeekend>(?:last|this past|over the) weekend)',
          '(?<thisWeekend>(?:this|next) weekend)',
          '(?<lastWeek>last week)',
          '(?<thisWeek>this week)',
          '(?<nextWeek>next week)',
          '(?<lastMonth>last month)',
          '(?<thisMonth>this month)',
          '(?<nextMonth>next month)',
          '(?<lastYear>last year)',
          `(?<count>\\d{1,4}|an?|${COUNTS})(?: of)? (?<unit>day|week|month|year)s? ago`,
          `(?<next>next )?(?<weekday>${WEEKDAYS})`,
        ].join('|') +
        ')\\b',
      'g',
    ),
    counts: {
      ...{ a: 1, an: 1, one: 1, two: 2, three: 3, four: 4, five: 5, six: 6, seven: 7, eight: 8, nine: 9, ten: 10 },
      ...{ few: 3, couple: 2 },
    },
    units: { day: ['day', 1], week: ['week', 1], month: ['month', 1], year: ['year', 1] },
    weekdays: Object.fromEntries(WEEKDAYS.split('|').map((name, weekday) => [name, weekday])),
  },
  timeWord: new RegExp(
    '\\b(?:yesterday|today|tomorrow|tonight|ago|recently|since|years?|months?|weeks?|days?|in (?:19|20)\\d\\d|' +
      'last (?:night|week|weekend|month|year|summer|winter|fall|spring|mon|tues|wednes|thurs|fri|satur|sun)\\w*|' +
      'next (?:week|month|year|weekend|summer)\\w*|this (?:week|month|year|weekend|morning|afternoon)|' +
      `${WEEKDAYS}|${MONTHS.replace('may|', '')})\\b`,
  ),
  names: /(?<![.!?]\s)\b[A-Z][a-z]+/g,
  first: /\b(?:I|[Mm]y|[Ww]e|[Oo]ur|[Mm]e)\b/,
  firstAsked: /\b(?:i|my|mine|me|we|our|ours|us)\b/,
  you: /\byour?\b/,
  greeting: /^\s*(?:hey|hi|hello|bye|thanks|thank you|take care|cool|wow|sounds good|see you|great|awesome|congrats)\b/,
  past: /\b(?:\w+ed|went|got|made|took|bought|saw|had|was|were|won|met|found|started|gave|did|came|began)\b/g,
  question: null,
  when: /^\s*(?:when|what (?:date|day|month|year|time)|how long|since when|in (?:which|what) (?:month|year))\b/,
  asks: {
    place: /^\s*where\b|\b(?:which|what) (?:city|country|state|place|town|location|area|restaurant|park|beach|store)\b/,
    duration: /\bhow (?:long|often|frequently)\b/,
    title:
      /\b(?:book|movie|film|song|game|band|show|name|named|called|title|brand|series|artist|author|company|companie)s?\b/,
    person: /\bwho\b|^\s*(?:whom|whose|with whom)\b/,
  },
  gives: {
    place: new RegExp(`\\b(?:in|at|to|from|near|around|visit\\w*)\\s+(?:the\\s+|a\\s+)?(?!(?:${NO_PLACES})s?\\b)[A-Z]`),
    duration: new RegExp(
      `\\b(?:\\d+|${COUNTS}|several|many|every|once|twice|each)\\s+(?:of\\s+)?(?:\\w+\\s+)?` +
        '(?:second|minute|hour|day|week|weekend|month|year|time|decade|morning|night)s?\\b|' +
        '\\bsince\\b|\\b(?:daily|weekly|always|usually|often|sometimes)\\b',
      'i',
    ),
    title: /["“][^"“”]{2,200}["”]|(?<=[a-z,] )[A-Z][a-z]+/,
    person: new RegExp(`(?<![.!?]\\s)(?<=\\s)[A-Z][a-z]+|\\b(?:${KIN}|${KIN.toUpperCase()})\\b`),
  },
}
