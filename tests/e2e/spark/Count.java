package org.example;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/** Words of a text, without those of a file that comes along, each counted as often as a property says. */
public final class Count {
    public static void main(String[] args) throws Exception {
        SparkSession spark = SparkSession.builder().getOrCreate();
        int times = Integer.parseInt(spark.conf().get("spark.example.times"));
        List<String> skipped = Files.readAllLines(Path.of("skipped.txt"));
        new JavaSparkContext(spark.sparkContext()).textFile(args[0])
            .flatMap(line -> Arrays.asList(line.split(" ")).iterator())
            .filter(word -> !skipped.contains(word))
            .mapToPair(word -> new Tuple2<>(word, times))
            .reduceByKey(Integer::sum)
            .map(pair -> pair._1() + "\t" + pair._2())
            .saveAsTextFile(args[1]);
        spark.stop();
    }
}
